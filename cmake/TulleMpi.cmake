# Programs of tulle::mpi, which need MPI: TULLE_HAS_MPI says that they can be built. The library knows no MPI. Left out of builds for tests of something else
# (sanitizers, coverage) and where tulle is a part of another project.
set(TULLE_HAS_MPI OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT (TULLE_SANITIZE OR TULLE_COVERAGE))
  find_package(MPI QUIET COMPONENTS CXX)
  set(TULLE_HAS_MPI ${MPI_CXX_FOUND})
endif()
