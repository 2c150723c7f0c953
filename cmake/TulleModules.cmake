# A folder of the library is a module: headers are found, sources are named. Each module is an object library, so that tests can
# link the modules they speak of, hidden symbols included; the library `tulle` is all of them together.
#
#   tulle_module(prim
#     CPU   cpu/scan.cpp …        always
#     CUDA  cuda/search.cu …      by nvcc for a real GPU, by the host compiler for the simulated one
#     NVCC  cuda/scan.cu …        by nvcc only (CUB)
#     SIM   sim/scan.cpp …        the plain twins of NVCC for the simulated GPU
#     LINK  ZLIB::ZLIB)           further libraries
set_property(GLOBAL PROPERTY TULLE_MODULES "")

function(tulle_module name)
  cmake_parse_arguments(arg "" "" "CPU;CUDA;NVCC;SIM;LINK" ${ARGN})
  set(target tulle_${name})
  add_library(${target} OBJECT ${arg_CPU})
  set_property(GLOBAL APPEND PROPERTY TULLE_MODULES ${name})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${TULLE_GENERATED})
  target_link_libraries(${target} PRIVATE tulle_flags PUBLIC OpenMP::OpenMP_CXX Threads::Threads ${arg_LINK})
  if(TULLE_COVERAGE AND NOT name STREQUAL "simt")      # neither the simulated GPU nor the tests: they would only be slow
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:--coverage;-fprofile-update=atomic>")
  endif()
  if(TULLE_SIMULATED)
    target_sources(${target} PRIVATE ${arg_CUDA} ${arg_SIM})
    target_compile_definitions(${target} PUBLIC TULLE_SIM)
    set_source_files_properties(${arg_CUDA} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++;-Wno-unknown-pragmas;-Wno-sign-conversion")
  elseif(TULLE_HAS_CUDA)
    target_sources(${target} PRIVATE ${arg_CUDA} ${arg_NVCC})
    target_link_libraries(${target} PUBLIC CUDA::cudart_static)
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

# Sanitizers of test programs: impossible sizes are for tulle to refuse; libraries that are not instrumented are not watched for races.
# A report ends a program with 99, which none of ours returns: 1 is what the command line tool says of a check that failed.
set(TULLE_SANITIZER_ENVIRONMENT "")
if(TULLE_SANITIZE)
  set(TULLE_SANITIZER_ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1:exitcode=99" "UBSAN_OPTIONS=print_stacktrace=1"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/leaks.supp:print_suppressions=0"
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1:allocator_may_return_null=1:halt_on_error=1")
endif()

# Programs are compiled more often than they work hard: the work is the library's.
set(TULLE_PROGRAM_FLAGS "" CACHE STRING "Flags of tests, the command line tool and the benchmark after those of the build type, e.g. -O0; by default -O1 in Release")
set(TULLE_LIGHT "$<$<CONFIG:Release>:-O1>" ${TULLE_PROGRAM_FLAGS})

# tulle_tests(io HOST MODULES base device prim matrix io SOURCES matrix_market_test.cpp …)
# One program of GoogleTest cases for a folder. HOST: nothing of it runs on a GPU, so a simulated one need not run it again; such programs
# are built by the target host_tests, the others by kernel_tests. COST: those that take long begin first.
add_custom_target(host_tests)
add_custom_target(kernel_tests)
function(tulle_tests name)
  cmake_parse_arguments(arg "HOST" "LABEL;TIMEOUT;COST" "MODULES;SOURCES;LINK" ${ARGN})
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tulle_flags tulle_test_support GTest::gtest GTest::gtest_main ${arg_LINK})
  tulle_link_modules(${target} ${arg_MODULES})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${TULLE_LIGHT}>")
  if(arg_HOST)
    set(arg_LABEL host)
    add_dependencies(host_tests ${target})
  else()
    add_dependencies(kernel_tests ${target})
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
