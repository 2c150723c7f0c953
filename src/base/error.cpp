// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "tulle/error.hpp"

#include "tulle/pimpl.hpp"

namespace tulle::inline TULLE_ABI {

Error::Error(const std::string& what, const std::string& hint)
    : std::runtime_error(hint.empty() ? what : what + "\n  hint: " + hint),
      message_(what),
      hint_(hint)
{}

FileError::FileError(const std::string& what, const std::string& hint, int code) : Error(what, hint), code_(code) {}

OutOfMemory::OutOfMemory(const std::string& what, std::size_t needed, std::size_t available, const std::string& hint)
    : Error(what, hint),
      needed_(needed),
      available_(available)
{}

void detail::throw_moved_from()
{
    throw ValueError("this plan was moved from", "use the one it was moved to, or assign another plan to it");
}

}  // namespace tulle::inline TULLE_ABI
