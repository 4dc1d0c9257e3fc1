# Compile options as interface targets, so that no global flag is set and every target says what it uses.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(WINNOW_CCACHE ccache)
if(WINNOW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WINNOW_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${WINNOW_CCACHE})
endif()

add_library(winnow_options INTERFACE)
add_library(winnow::options ALIAS winnow_options)
target_compile_options(winnow_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${WINNOW_WARNINGS_AS_ERRORS}>>:-Werror>)

if(WINNOW_SANITIZE)
  # The sanitizers interpose on every object, third-party headers included, so they go on all targets.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WINNOW_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${WINNOW_SANITIZE})
  if(WINNOW_SANITIZE MATCHES "undefined")
    # protobuf and gRPC come without type information that fits, so the vptr check would only find them.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>
                        $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
  endif()
endif()

# winnow_library(NAME [SOURCES ...] [PUBLIC ...] [PRIVATE ...]): static library winnow_NAME with alias winnow::NAME.
# Includes are relative to the project root.
function(winnow_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(winnow_${name} STATIC ${arg_SOURCES})
  add_library(winnow::${name} ALIAS winnow_${name})
  target_include_directories(winnow_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(winnow_${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:winnow::options> ${arg_PRIVATE})
endfunction()
