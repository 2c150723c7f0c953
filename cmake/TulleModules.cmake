# A folder of the library is a module: headers are found, sources are named. Each module is an object library, so that tests can
# link the modules they speak of, hidden symbols included; the library `tulle` is all of them together.
#
#   tulle_module(prim
#     CPU   cpu/scan.cpp …        always
#     LIGHT policy.cpp …          always; calls the steps and has no long loops of its own: -O1 instead of -O3, which takes the compiler a third less time
#     CUDA  cuda/search.cu …      by nvcc for a real GPU, by the host compiler for the simulated one
#     NVCC  cuda/scan.cu …        by nvcc only (CUB)
#     SIM   sim/scan.cpp …        the plain twins of NVCC for the simulated GPU
#     NOT_IN_DEMO team/team.cpp … files of CPU and LIGHT that `make demo` does not compile (tulle_link_demo)
#     LINK  ZLIB::ZLIB)           further libraries
set_property(GLOBAL PROPERTY TULLE_MODULES "")

# Precompiled headers: what others wrote (the standard library, GoogleTest, fmt …), of ours that of the examples alone. They save a third of a build from nothing, but
# hide an include that is missing, and a compiler cache passes them by. So they are for builds whose sources something else compiles without.
#
#   tulle_precompile(target)                            after the target's flags are set
#   tulle_precompile(target WITH GTest::gtest gtest/gtest.h)      a library and one of its headers more
#
# Targets with the same flags share a file; other flags make another one: g++ 13 refuses a file that was made with another -O on x86-64.
option(TULLE_PRECOMPILE "Precompile the headers of the standard library and others" OFF)
set(TULLE_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <charconv> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <limits> <map> <memory>
  <mutex> <numeric> <optional> <span> <string> <string_view> <thread> <type_traits> <utility> <variant> <vector>)
set_property(GLOBAL PROPERTY TULLE_PRECOMPILED "")
function(tulle_precompile target)
  if(NOT TULLE_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "WITH" ${ARGN})
  tulle_precompiled_flags(flags ${target})
  string(SHA1 key "${flags} ${arg_WITH}")
  string(SUBSTRING ${key} 0 8 key)
  set(shared tulle_precompiled_${key})
  if(NOT TARGET ${shared})
    tulle_share_precompiled(${shared} ${target} ${arg_WITH})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
  set_property(GLOBAL APPEND PROPERTY TULLE_PRECOMPILED ${target})
endfunction()

# A target with the flags of another; nothing but the headers is in it.
function(tulle_share_precompiled shared target)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "int main() {}\n")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")      # code at another address than a library's
    add_executable(${shared} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
  else()
    add_library(${shared} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
  endif()
  foreach(property COMPILE_OPTIONS TULLE_ADDRESSES_ONLY)
    get_target_property(value ${target} ${property})
    if(value)
      set_target_properties(${shared} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  set(headers ${TULLE_STANDARD_HEADERS})
  set(library "")
  if(ARGN)
    list(GET ARGN 0 library)
    list(GET ARGN 1 header)
    list(APPEND headers <${header}>)
  endif()
  target_link_libraries(${shared} PRIVATE tulle_flags OpenMP::OpenMP_CXX Threads::Threads ${library})
  target_precompile_headers(${shared} PRIVATE ${headers})
endfunction()

# What must be the same where a file is shared. All of these targets link tulle_flags and OpenMP.
function(tulle_precompiled_flags result target)
  set(flags "")
  foreach(property TYPE COMPILE_OPTIONS TULLE_ADDRESSES_ONLY)
    get_target_property(value ${target} ${property})
    if(NOT value)
      set(value "")
    endif()
    string(APPEND flags "${property}=${value} ")
  endforeach()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# After all targets: nobody has changed the flags of one that shares a file.
function(tulle_check_precompiled)
  get_property(targets GLOBAL PROPERTY TULLE_PRECOMPILED)
  foreach(target ${targets})
    get_target_property(shared ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    tulle_precompiled_flags(own ${target})
    tulle_precompiled_flags(theirs ${shared})
    if(NOT own STREQUAL theirs)
      message(FATAL_ERROR "${target} has other flags than its precompiled header: ${own}instead of ${theirs}. Set them before tulle_precompile().")
    endif()
  endforeach()
endfunction()

# Several source files in one go: what they include is read once, and templates are made once. That halves the compiler's work for tests and for host code,
# but hides a missing include even of our own, and a name that two files give to different things is an error. So it is for builds beside others.
# Kernels have flags of their own, by which CMake leaves them single.
option(TULLE_UNITY "Compile several source files at a time: tests, programs, host code of the library" OFF)
if(TULLE_UNITY AND NOT TULLE_HAS_CUDA AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")      # sixty programs: half the time of the usual linker
  find_program(TULLE_GOLD ld.gold)
  if(TULLE_GOLD)
    target_link_options(tulle_flags INTERFACE -fuse-ld=gold)
  endif()
endif()
if(TULLE_UNITY)      # half a gigabyte before g++ first looks for garbage: a batch needs nearly as much anyway
  target_compile_options(tulle_flags INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>")
endif()
function(tulle_unity target)      # the second argument: how many at a time
  set(files 8 ${ARGN})
  list(GET files -1 files)
  if(TULLE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

set(TULLE_HOST_KERNEL_FLAGS "" CACHE STRING "With a simulated GPU: flags of kernels and of host code outside cpu/ and sim/ after those of the build type, e.g. -O0")

# ThreadSanitizer names the line of a race without being told of every function that is entered, which kernels and tests need not do therefore.
set(TULLE_LINES_ALONE -mllvm -tsan-instrument-func-entry-exit=0)

# A loop over the nonzeros of a row has 28 bytes, and takes a cycle or two more for each of them where a line of 32 bytes begins inside it (Cascade Lake: a jump on
# such a border is decoded anew each time). For whole targets, because a precompiled header brings its own alignment along.
set(TULLE_LOOPS "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TULLE_LOOPS "$<$<COMPILE_LANGUAGE:CXX>:-falign-loops=32>")
endif()

# A section for each function, so that the linker can drop those that a program does not call: tulle_link_demo().
set(TULLE_SECTIONS "$<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections>")

function(tulle_module name)
  cmake_parse_arguments(arg "" "" "CPU;LIGHT;CUDA;NVCC;SIM;NOT_IN_DEMO;LINK" ${ARGN})
  set(target tulle_${name})
  set_property(GLOBAL APPEND PROPERTY TULLE_MODULES ${name})
  if(NOT TULLE_SIMULATED)
    set(own ${arg_CPU})
    if(TULLE_HAS_CUDA)
      list(APPEND own ${arg_CUDA} ${arg_NVCC})
    endif()
    set_source_files_properties(${arg_CUDA} ${arg_NVCC} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    tulle_module_objects(${target} ${TULLE_LOOPS} SOURCES ${own} APART ${arg_NOT_IN_DEMO} LINK ${arg_LINK})
    if(arg_LIGHT)
      set(light "")
      if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O[23]")
        set(light $<$<CONFIG:Release>:-O1>)
      endif()
      tulle_module_objects(${target}_light ${light} FILES_AT_ONCE 10 SOURCES ${arg_LIGHT} APART ${arg_NOT_IN_DEMO} LINK ${arg_LINK})
      target_sources(${target} INTERFACE $<TARGET_OBJECTS:${target}_light>)
      if(TARGET ${target}_light_rest)
        target_sources(${target} INTERFACE $<TARGET_OBJECTS:${target}_light_rest>)
      endif()
    endif()
    return()
  endif()
  list(APPEND arg_CPU ${arg_LIGHT})

  # Beside a simulated GPU, the CPU's steps (cpu/, sim/) and the rest are two targets, as TULLE_HOST_KERNEL_FLAGS are not for those: they have work to do. A kernel has little of its own, as nearly all
  # of a simulated GPU's time is the simulator's, and what sanitizers add to its code takes a compiler four times as long to optimise as to write down.
  # Kernels run one after the other there, so that counters need no atomics.
  set(watched "")
  if(TULLE_SANITIZE STREQUAL "thread")
    set(watched "${TULLE_LINES_ALONE};")
  endif()
  set_source_files_properties(${arg_CUDA} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
    "-x;c++;-Wno-unknown-pragmas;-Wno-sign-conversion;$<$<CXX_COMPILER_ID:GNU>:-Wshadow>;${watched}$<$<BOOL:${TULLE_COVERAGE}>:--coverage;-fprofile-update=single;-include;simt/rounds.hpp>")
  set_source_files_properties(${arg_SIM} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)      # no other build has them
  set(steps ${arg_CPU} ${arg_SIM})
  set(stories ${arg_CPU})
  list(FILTER steps INCLUDE REGEX "(^|/)(cpu|sim)/")
  list(FILTER stories EXCLUDE REGEX "(^|/)(cpu|sim)/")
  list(APPEND stories ${arg_CUDA})
  if(name STREQUAL "simt")                                   # has flags of its own
    add_library(${target} OBJECT ${stories})
  elseif(name STREQUAL "io" AND TULLE_BUILD_FUZZ)      # so have readers that are fuzzed, and work to do
    add_library(${target} OBJECT ${stories})
    target_compile_options(${target} PRIVATE -O1)
    if(TULLE_PRECOMPILE)
      target_precompile_headers(${target} PRIVATE ${TULLE_STANDARD_HEADERS})      # not shared: fuzzers add flags
    endif()
    tulle_unity(${target})
  else()
    add_library(${target} OBJECT ${stories})
    target_compile_options(${target} PRIVATE ${TULLE_HOST_KERNEL_FLAGS})
    tulle_precompile(${target})
    tulle_unity(${target})
    if(steps)
      add_library(${target}_steps OBJECT ${steps})
      tulle_module_flags(${target}_steps ${arg_LINK})
      tulle_precompile(${target}_steps)
      tulle_unity(${target}_steps)
      target_sources(${target} INTERFACE $<TARGET_OBJECTS:${target}_steps>)
    endif()
  endif()
  tulle_module_flags(${target} ${arg_LINK})
endfunction()

# Sources as one object library, or as two where some stand APART: those are `target`_rest. What stands before SOURCES are flags.
function(tulle_module_objects target)
  cmake_parse_arguments(arg "" "FILES_AT_ONCE" "SOURCES;APART;LINK" ${ARGN})
  set(rest "")
  if(arg_APART AND NOT TULLE_HAS_CUDA)
    foreach(file ${arg_SOURCES})
      if(file IN_LIST arg_APART)
        list(APPEND rest ${file})
      endif()
    endforeach()
    list(REMOVE_ITEM arg_SOURCES ${arg_APART})
  endif()
  add_library(${target} OBJECT ${arg_SOURCES})
  set(libraries ${target})
  if(rest)
    add_library(${target}_rest OBJECT ${rest})
    target_sources(${target} INTERFACE $<TARGET_OBJECTS:${target}_rest>)
    list(APPEND libraries ${target}_rest)
  endif()
  foreach(library ${libraries})
    target_compile_options(${library} PRIVATE ${TULLE_SECTIONS} ${arg_UNPARSED_ARGUMENTS})
    tulle_module_flags(${library} ${arg_LINK})
    tulle_precompile(${library})
    tulle_unity(${library} ${arg_FILES_AT_ONCE})
  endforeach()
endfunction()

function(tulle_module_flags target)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${TULLE_GENERATED})
  target_link_libraries(${target} PRIVATE tulle_flags PUBLIC OpenMP::OpenMP_CXX Threads::Threads ${ARGN})
  if(TULLE_SIMULATED)
    target_compile_definitions(${target} PUBLIC TULLE_SIM)
  elseif(TULLE_HAS_CUDA)
    target_link_libraries(${target} PUBLIC CUDA::cudart_static)
  endif()
  if(TULLE_COVERAGE AND NOT TULLE_SIMULATED)      # not the tests: they would only be slow; beside a simulated GPU the kernels alone, for the same reason
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:--coverage;-fprofile-update=atomic>")
  endif()
endfunction()

# Links the modules a program needs as objects.
function(tulle_link_modules target)
  foreach(module ${ARGN})
    target_link_libraries(${target} PRIVATE tulle_${module})
  endforeach()
  if(TULLE_SIMULATED)
    target_link_libraries(${target} PRIVATE tulle_simt)
  endif()
endfunction()

# The modules of a demonstration as objects, without what is NOT_IN_DEMO: functions that nothing calls may need it, which the linker drops.
function(tulle_link_demo target)
  foreach(module ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:tulle_${module}>)
    if(TARGET tulle_${module}_light)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:tulle_${module}_light>)
    endif()
    get_target_property(libraries tulle_${module} INTERFACE_LINK_LIBRARIES)
    target_link_libraries(${target} PRIVATE ${libraries})
  endforeach()
  target_link_options(${target} PRIVATE LINKER:--gc-sections)
endfunction()

# Sanitizers of test programs: impossible sizes are for tulle to refuse; the runtime of OpenMP is not watched for races.
# A report ends a program with 99, which none of ours returns: 1 is what the command line tool says of a check that failed.
set(TULLE_SANITIZER_ENVIRONMENT "")
if(TULLE_SANITIZE)
  set(TULLE_SANITIZER_ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1:exitcode=99" "UBSAN_OPTIONS=print_stacktrace=1"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/leaks.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/races.supp:allocator_may_return_null=1:halt_on_error=1:atexit_sleep_ms=0")
endif()
# Of tests that run many short programs: LeakSanitizer takes three seconds at the end of each. The tests of the library look for leaks.
list(TRANSFORM TULLE_SANITIZER_ENVIRONMENT REPLACE "^ASAN_OPTIONS=" "ASAN_OPTIONS=detect_leaks=0:" OUTPUT_VARIABLE TULLE_SHORT_PROGRAM_ENVIRONMENT)

# Programs are compiled more often than they work hard: the work is the library's.
set(TULLE_PROGRAM_FLAGS "" CACHE STRING "Flags of tests, examples, the command line tool and the benchmark after those of the build type, e.g. -O0; by default -O1 in Release")
set(TULLE_LIGHT "$<$<CONFIG:Release>:-O1>" ${TULLE_PROGRAM_FLAGS})
set(TULLE_TEST_FLAGS "" CACHE STRING "Flags of tests after TULLE_PROGRAM_FLAGS, e.g. -O0, which takes longer to run and less to compile (make test)")
if(TULLE_SIMULATED AND TULLE_SANITIZE STREQUAL "thread")
  list(APPEND TULLE_LIGHT ${TULLE_LINES_ALONE})
endif()

# tulle_tests(io HOST MODULES base device prim matrix io SOURCES matrix_market_test.cpp …)
# One program of GoogleTest cases for a folder. HOST: nothing of it runs on a GPU, so a simulated one need not run it again; such programs
# are built by the target host_tests, the others by kernel_tests. COST: those that take long begin first.
add_custom_target(host_tests)
add_custom_target(kernel_tests)
function(tulle_tests name)
  cmake_parse_arguments(arg "HOST" "LABEL;TIMEOUT;COST" "MODULES;SOURCES;LINK" ${ARGN})
  set(target test_${name})
  set(inlines "")
  if(TARGET tulle_test_inlines)
    set(inlines $<TARGET_OBJECTS:tulle_test_inlines>)      # before the sources: the linker takes the first of equal functions
  endif()
  add_executable(${target} ${inlines} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tulle_flags tulle_test_support GTest::gtest GTest::gtest_main ${arg_LINK})
  tulle_link_modules(${target} ${arg_MODULES})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${TULLE_LIGHT};${TULLE_TEST_FLAGS}>")
  set_target_properties(${target} PROPERTIES TULLE_ADDRESSES_ONLY ON)
  if(NOT arg_LABEL OR TULLE_SANITIZE)      # tests of the simulator: no build without a simulated GPU has them, so one beside sanitizers takes them one by one
    tulle_precompile(${target} WITH GTest::gtest gtest/gtest.h)
    tulle_unity(${target} 16)
  endif()
  if(arg_HOST)
    set(arg_LABEL host)
    add_dependencies(host_tests ${target})
  else()
    add_dependencies(kernel_tests ${target})
    if(TULLE_HAS_CUDA)
      target_link_libraries(${target} PRIVATE tulle_test_launches)
    endif()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_COST)
    set(arg_COST 10)
  endif()
  add_test(NAME ${name} COMMAND ${target} --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} COST ${arg_COST} ENVIRONMENT "${TULLE_SANITIZER_ENVIRONMENT}")
endfunction()
