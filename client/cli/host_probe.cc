#include "client/cli/host_probe.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/number_text.h"

namespace winnow::cli {
namespace {

// What containers get unless told otherwise; less does not even hold that.
constexpr int64_t kLeastSharedBytes = int64_t{64} << 20;

void ProbeDevice(const client::ServerInfo& info, Findings& findings) {
  const client::DeviceDescription& device = info.device;
  if (device.kind != "cuda") {
    findings.Say("GPU", Verdict::kNote, absl::StrCat("none: ", info.backend_reason));
    return;
  }
  findings.Say("GPU", Verdict::kOk,
               absl::StrCat(device.name, ", compute capability ", device.compute_capability));
  findings.Say(
      "clusters", device.max_cluster_size > 0 ? Verdict::kOk : Verdict::kNote,
      device.max_cluster_size > 0
          ? absl::StrCat("of up to ", device.max_cluster_size, " blocks; ", device.pool_note)
          : absl::StrCat("none on this device: long rows take other routes; ", device.pool_note));
  if (absl::StrContains(device.name, "MIG")) {
    findings.Say("MIG", Verdict::kNote,
                 "the device is an instance of a divided GPU: memory is shared by descriptor, not "
                 "by handle");
  }
  findings.Say("MPS", device.multi_process_service ? Verdict::kOk : Verdict::kNote,
               device.multi_process_service
                   ? "the server runs beside other processes on the GPU"
                   : "off: beside a busy process calls wait for its time slices; "
                     "deploy/README.md says how to start it");
}

// The socket of a Unix target, as "srw-rw---- of uid 1000, gid 1000".
void ProbeSocket(const std::string& target, Findings& findings) {
  absl::string_view path = target;
  if (!absl::ConsumePrefix(&path, "unix:")) {
    findings.Say("socket", Verdict::kNote,
                 "TCP: no memory can be shared over it; on one host a Unix socket is faster too");
    return;
  }
  struct stat status = {};
  if (stat(std::string(path).c_str(), &status) != 0) {
    findings.Say("socket", Verdict::kNotOk, absl::StrCat(path, ": ", std::strerror(errno)));
    return;
  }
  const bool open_to_all = (status.st_mode & S_IWOTH) != 0;
  findings.Say(
      "socket", open_to_all ? Verdict::kNote : Verdict::kOk,
      absl::StrFormat("%s, mode %04o, of uid %d, gid %d%s", path,
                      static_cast<unsigned>(status.st_mode & 07777),
                      static_cast<int64_t>(status.st_uid), static_cast<int64_t>(status.st_gid),
                      open_to_all ? "; every user of the host may connect" : ""));
}

// The namespace of a process, "ipc:[4026531839]"; empty when it cannot be seen.
std::string NamespaceOf(absl::string_view process, const char* kind) {
  char text[128];
  const std::string path = absl::StrCat("/proc/", process, "/ns/", kind);
  const ssize_t length = readlink(path.c_str(), text, sizeof(text));
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : "";
}

// Whether the process that has the server's number here is a server: in another PID namespace the
// number belongs to somebody else.
bool IsServer(int64_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/comm"));
  std::string name;
  std::getline(file, name);
  return name == "winnow-server";
}

void ProbeNamespaces(const client::ServerInfo& info, Findings& findings) {
  const std::string server =
      IsServer(info.process_id) ? NamespaceOf(absl::StrCat(info.process_id), "ipc") : "";
  const std::string own = NamespaceOf("self", "ipc");
  if (server.empty()) {
    findings.Say("IPC namespace", Verdict::kNotTried,
                 "the server's process cannot be seen from here: another container, host or user");
  } else if (own.empty()) {
    findings.Say("IPC namespace", Verdict::kNotTried,
                 "this process does not find itself in /proc, which is that of another PID "
                 "namespace");
  } else if (server == own) {
    findings.Say("IPC namespace", Verdict::kOk, "the server's");
  } else {
    findings.Say("IPC namespace", info.device.kind == "cuda" ? Verdict::kNotOk : Verdict::kNote,
                 "not the server's, and handles of GPU memory need one: start both containers with "
                 "--ipc=host, or one with --ipc=container:NAME (hostIPC in Kubernetes)");
  }
}

void ProbeSharedMemory(Findings& findings) {
  struct statvfs shared = {};
  if (statvfs("/dev/shm", &shared) != 0) {
    findings.Say("/dev/shm", Verdict::kNote,
                 absl::StrCat("is not there (", std::strerror(errno),
                              "): only shared memory without a name can be had"));
    return;
  }
  const auto free = static_cast<int64_t>(shared.f_bavail) * static_cast<int64_t>(shared.f_frsize);
  findings.Say("/dev/shm", free >= kLeastSharedBytes ? Verdict::kOk : Verdict::kNote,
               absl::StrCat(ShownBytes(free), " free",
                            free >= kLeastSharedBytes
                                ? ""
                                : "; containers get 64 MiB unless told otherwise: --shm-size=1g"));
}

void ProbeAllocator(Findings& findings) {
  const char* const settings = std::getenv("PYTORCH_CUDA_ALLOC_CONF");
  if (settings == nullptr || *settings == '\0') return;
  const bool segments = absl::StrContains(settings, "expandable_segments:True");
  findings.Say("PyTorch's allocator", Verdict::kNote,
               segments ? "expandable segments: their memory is shared by descriptor, not by handle"
                        : "no expandable segments: its memory is shared by handle");
}

}  // namespace

void ProbeHost(const Session& session, Findings& findings) {
  ProbeDevice(session.info, findings);
  ProbeSocket(session.target, findings);
  // A server reached by TCP may be on another host, where its process number says nothing.
  if (absl::StartsWith(session.target, "unix:")) ProbeNamespaces(session.info, findings);
  ProbeSharedMemory(findings);
  if (session.info.device.kind == "cuda") ProbeAllocator(findings);
}

}  // namespace winnow::cli
