# Programs of tulle::mpi, which need MPI: TULLE_HAS_MPI says that they can be built. The library knows no MPI. Left out of builds for tests of something else
# (sanitizers, coverage) and where tulle is a part of another project.
set(TULLE_HAS_MPI OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT (TULLE_SANITIZE OR TULLE_COVERAGE))
  find_package(MPI QUIET COMPONENTS CXX)
  set(TULLE_HAS_MPI ${MPI_CXX_FOUND})
endif()
# PT-SCOTCH, for the programs: tulle/ptscotch.hpp. Debian's is built with Open MPI.
option(TULLE_PTSCOTCH "tulle-mpi uses PT-SCOTCH where it is found; OFF where that was built with another MPI" ON)
if(TULLE_HAS_MPI AND TULLE_PTSCOTCH)
  find_path(TULLE_PTSCOTCH_INCLUDE ptscotch.h PATH_SUFFIXES scotch)
  find_library(TULLE_SCOTCH_LIBRARY scotch)
  find_library(TULLE_PTSCOTCHERR_LIBRARY ptscotcherr)
  find_library(TULLE_PTSCOTCH_LIBRARY ptscotch)
  mark_as_advanced(TULLE_PTSCOTCH_INCLUDE TULLE_SCOTCH_LIBRARY TULLE_PTSCOTCHERR_LIBRARY TULLE_PTSCOTCH_LIBRARY)
  if(NOT TULLE_PTSCOTCH_INCLUDE OR NOT TULLE_SCOTCH_LIBRARY OR NOT TULLE_PTSCOTCHERR_LIBRARY OR NOT TULLE_PTSCOTCH_LIBRARY)
    unset(TULLE_PTSCOTCH_LIBRARY CACHE)
  endif()
endif()
