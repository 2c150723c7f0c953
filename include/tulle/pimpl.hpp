// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How every plan holds its data ("pointer to implementation").
#pragma once

#include <memory>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::detail {

/// Throws ValueError: a plan was used after it had been moved from.
[[noreturn]] TULLE_API void throw_moved_from();

/// Owns an object whose type is defined in the library only. The library creates the object and with it records how to
/// delete it, so that a class with a Pimpl needs no destructor and no moves of its own: it can be moved, not copied.
/// What was moved from can only be destroyed or assigned to; all other calls throw ValueError.
template <class State>
class Pimpl {
public:
    /// Takes the object; State is complete here.
    Pimpl(std::unique_ptr<State> state) : state_(state.release(), [](State* s) { delete s; }) {}

    /// The object; it may be changed by const functions of the plan, which use its workspace.
    State* operator->() const
    {
        if (!state_) throw_moved_from();
        return state_.get();
    }
    /// The object; as above.
    State& operator*() const { return *operator->(); }

private:
    std::unique_ptr<State, void (*)(State*)> state_;
};

}  // namespace tulle::inline TULLE_ABI::detail
