# What the programs use beside the library; Debian: libcli11-dev nlohmann-json3-dev libfmt-dev libpng-dev.
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(PNG)
