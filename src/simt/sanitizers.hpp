// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What the simulator tells AddressSanitizer and ThreadSanitizer; nothing in other builds.
//
// ThreadSanitizer is told the truth about a GPU, not about the fibers that imitate it: every GPU thread and every
// stream is a thread of its own, a switch between them orders nothing, and only what orders memory on a GPU (barriers,
// __syncwarp, launches, events, waits) is an edge. It then finds races in shared and global memory whatever the
// schedule was.
#pragma once

#include <cstddef>

#include "tulle/api.hpp"

#if defined(__SANITIZE_THREAD__) && \
    !defined(TULLE_SIMT_TSAN)  // the simulator itself is told by CMake: it is not instrumented
#define TULLE_SIMT_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(TULLE_SIMT_TSAN)
#define TULLE_SIMT_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(TULLE_SIMT_ASAN)
#define TULLE_SIMT_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(TULLE_SIMT_ASAN)
#define TULLE_SIMT_ASAN
#endif
#endif

#ifdef TULLE_SIMT_TSAN
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* token);
void __tsan_release(void* token);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}
#endif
#ifdef TULLE_SIMT_ASAN
extern "C" {
void __asan_poison_memory_region(const volatile void* from, std::size_t bytes);
void __asan_unpoison_memory_region(const volatile void* from, std::size_t bytes);
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t bytes);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom_old, std::size_t* bytes_old);
}
#endif
#if defined(TULLE_SIMT_ASAN) || defined(TULLE_SIMT_TSAN)
extern "C" void __sanitizer_set_death_callback(void (*callback)(void));
#endif

namespace tulle::inline TULLE_ABI::simt {

#ifdef TULLE_SIMT_TSAN
inline constexpr bool under_tsan = true;
inline constexpr unsigned orders_nothing = 1;  // the flag of a switch that is no happens-before edge

// An edge: what released a token happened before what acquires it.
struct Token {
    void release() { __tsan_release(this); }
    void acquire() { __tsan_acquire(this); }
    char address = 0;
};

// The simulator's own bookkeeping is no race. (What is called reads stands for all accesses; each call takes down a
// stack, so there are few.)
struct Quiet {
    Quiet() { begin(); }
    ~Quiet() { end(); }
    static void begin() { AnnotateIgnoreReadsBegin("", 0); }
    static void end() { AnnotateIgnoreReadsEnd("", 0); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
};

// A thread in ThreadSanitizer's eyes.
inline void* new_identity() { return __tsan_create_fiber(0); }
inline void end_identity(void* identity) { __tsan_destroy_fiber(identity); }
inline void* current_identity() { return __tsan_get_current_fiber(); }
inline void become(void* identity) { __tsan_switch_to_fiber(identity, orders_nothing); }
#else
inline constexpr bool under_tsan = false;
struct Token {
    void release() {}
    void acquire() {}
};
struct Quiet {
    Quiet() {}  // not defaulted: an unused variable otherwise
    ~Quiet() {}
    static void begin() {}
    static void end() {}
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
};
inline void* new_identity() { return nullptr; }
inline void end_identity(void*) {}
inline void* current_identity() { return nullptr; }
inline void become(void*) {}
#endif

// Inside a Quiet: what a copy does to memory counts.
struct Loud {
    Loud() { Quiet::end(); }
    ~Loud() { Quiet::begin(); }
    Loud(const Loud&) = delete;
    Loud& operator=(const Loud&) = delete;
};

#ifdef TULLE_SIMT_ASAN
inline constexpr bool under_asan = true;
inline void poison(const void* from, std::size_t bytes) { __asan_poison_memory_region(from, bytes); }
inline void unpoison(const void* from, std::size_t bytes) { __asan_unpoison_memory_region(from, bytes); }
#else
inline constexpr bool under_asan = false;
inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}
#endif

}  // namespace tulle::inline TULLE_ABI::simt
