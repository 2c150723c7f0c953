# What the programs use beside the library; Debian: libcli11-dev nlohmann-json3-dev libfmt-dev libcairo2-dev.
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)

# Cairo draws the pictures; without it the programs are built all the same.
find_path(TULLE_CAIRO_INCLUDE cairo.h PATH_SUFFIXES cairo)
find_library(TULLE_CAIRO_LIBRARY cairo)
mark_as_advanced(TULLE_CAIRO_INCLUDE TULLE_CAIRO_LIBRARY)
if(TULLE_CAIRO_INCLUDE AND TULLE_CAIRO_LIBRARY)
  add_library(tulle_cairo INTERFACE)
  target_include_directories(tulle_cairo SYSTEM INTERFACE ${TULLE_CAIRO_INCLUDE})
  target_link_libraries(tulle_cairo INTERFACE ${TULLE_CAIRO_LIBRARY})
else()
  message(STATUS "tulle: Cairo was not found (Debian: libcairo2-dev), so pictures are not built")
endif()
