// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "simt/context.hpp"

#include <cstdint>
#include <cstring>

#ifndef TULLE_SIMT_UCONTEXT
extern "C" void tulle_simt_switch(void** save, void* to);

#if defined(__x86_64__)
asm(R"(
    .text
    .type tulle_simt_switch,@function
tulle_simt_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size tulle_simt_switch, .-tulle_simt_switch
)");
#else
asm(R"(
    .text
    .type tulle_simt_switch,%function
tulle_simt_switch:
    stp x19, x20, [sp, #-160]!
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8,  d9,  [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8,  d9,  [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x19, x20, [sp], #160
    ret
    .size tulle_simt_switch, .-tulle_simt_switch
)");
#endif
#endif

namespace tulle::inline TULLE_ABI::simt {

#ifdef TULLE_SIMT_UCONTEXT
void prepare(StackContext& context, char* stack, std::size_t bytes, void (*entry)())
{
    getcontext(&context.saved);
    context.saved.uc_stack.ss_sp = stack;
    context.saved.uc_stack.ss_size = bytes;
    context.saved.uc_link = nullptr;
    makecontext(&context.saved, entry, 0);
}

void switch_stacks(StackContext& from, StackContext& to) { swapcontext(&from.saved, &to.saved); }
#else
// Lays out the frame that the switch will take off: saved registers, all zero, and the entry as the address to return
// to.
void prepare(StackContext& context, char* stack, std::size_t bytes, void (*entry)())
{
#if defined(__x86_64__)
    constexpr int words = 24,
                  return_address = 6;  // 6 registers below it; the stack is 16n + 8 at a function's first instruction
#else
    constexpr int words = 36, return_address = 11;  // x30 is the 12th of 20 registers
#endif
    const auto top = (reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{15};
    void** frame = reinterpret_cast<void**>(top) - words;
    std::memset(frame, 0, words * sizeof(void*));
    frame[return_address] = reinterpret_cast<void*>(entry);
    context.stack_pointer = frame;
}

void switch_stacks(StackContext& from, StackContext& to) { tulle_simt_switch(&from.stack_pointer, to.stack_pointer); }
#endif

}  // namespace tulle::inline TULLE_ABI::simt
