// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Leaving one stack for another. Hand-written for x86_64 and aarch64, where a kernel's barrier should cost nanoseconds;
// ucontext elsewhere.
#pragma once

#include <cstddef>

#include "tulle/api.hpp"

#if !defined(TULLE_SIMT_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define TULLE_SIMT_UCONTEXT
#endif
#ifdef TULLE_SIMT_UCONTEXT
#include <ucontext.h>
#endif

namespace tulle::inline TULLE_ABI::simt {

#ifdef TULLE_SIMT_UCONTEXT
struct StackContext {
    ucontext_t saved;
};
#else
struct StackContext {
    void* stack_pointer = nullptr;  // the callee-saved registers lie on top of the stack
};
#endif

// Makes `entry` run on the given stack at the first switch to it. It must not return.
void prepare(StackContext& context, char* stack, std::size_t bytes, void (*entry)());

// Saves the running context and goes on with the other; returns when somebody switches back.
void switch_stacks(StackContext& from, StackContext& to);

}  // namespace tulle::inline TULLE_ABI::simt
