# Writes a header with git's name of the source tree; run at every build, so that it is the commit that was built and not the one
# that was configured. "-dirty" speaks of what is measured and of what measures; the simulator is neither.  cmake -DSOURCE=… -DHEADER=… -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --tags OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD -- include src bench :!src/simt ERROR_QUIET RESULT_VARIABLE changed)
if(failed)
  set(commit unknown)
elseif(changed)
  string(APPEND commit -dirty)
endif()
file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT [[
#pragma once
namespace tulle::bench {
inline constexpr const char* built_from_commit = "@commit@";
}
]])
