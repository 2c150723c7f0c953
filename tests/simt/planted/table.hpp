// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The planted bugs: what each is called, what it says, and in which builds it must be caught.
//
// No build catches all of them, and each catches some that the others do not: that is why there are three.
#pragma once

#include <string_view>

namespace tulle::test {

enum Builds : unsigned { plain = 1, asan = 2, tsan = 4, everywhere = 7 };

struct PlantedBug {
    std::string_view name;
    unsigned caught_in;     // Builds
    std::string_view says;  // part of the output there; sanitizers have their own words
};

inline constexpr PlantedBug planted_bugs[] = {
    // threads of a block
    {"missing_barrier", everywhere, "wrong result"},
    {"missing_second_barrier", everywhere, "wrong result"},
    {"divergent_barrier", everywhere, "divergent __syncthreads"},
    {"barrier_after_exit", everywhere, "__syncthreads"},
    {"uninitialised_shared", everywhere, "wrong result"},
    {"shared_off_by_one", asan, "out of bounds"},
    {"shared_increment", tsan, "data race"},
    {"shared_used_again", tsan, "data race"},
    {"structs_used_again", tsan, "data race"},
    {"warps_write_one_word", tsan, "data race"},
    {"dynamic_shared_too_short", asan, "heap-buffer-overflow"},
    {"shared_wider_than_aligned", asan, "misaligned address"},
    {"shared_static_and_dynamic_too_large", everywhere, "static and dynamic shared memory"},
    {"variable_not_set", everywhere, "wrong result"},
    {"some_warps_without_a_number", everywhere, "there is no barrier 16"},
    {"some_warps_and_a_half", everywhere, "a barrier of 40 of the 128 threads"},
    {"some_warps_not_all_there", everywhere, "deadlock"},
    // lanes of a warp
    {"warp_synchronous", everywhere, "wrong result"},
    {"shuffle_for_a_barrier", tsan, "data race"},
    {"full_mask_in_a_branch", everywhere, "warp collective"},
    {"lane_not_in_its_mask", everywhere, "does not name it"},
    {"shuffle_from_outside", everywhere, "not in the mask"},
    {"divergent_collective", everywhere, "divergent warp collective"},
    {"collective_in_a_wait", everywhere, "livelock"},
    // blocks of a grid
    {"test_then_set", everywhere, "wrong result"},
    {"relaxed_flag", tsan, "data race"},
    {"waits_for_itself", everywhere, "livelock"},
    {"full_hash_table", everywhere, "livelock"},
    {"block_order", everywhere, "livelock"},
    {"plain_add_by_two_blocks", tsan, "data race"},
    {"misaligned_atomic", everywhere, "misaligned"},
    // blocks of a cluster
    {"cluster_not_met", everywhere, "may not have started"},
    {"cluster_reads_early", everywhere, "wrong result"},
    {"cluster_half_a_barrier", everywhere, "between the two halves"},
    {"cluster_block_ended", everywhere, "has ended"},
    // global memory
    {"read_past_the_end", asan, "use-after-poison"},
    {"write_past_the_end", plain | asan, "past the end"},
    {"output_not_cleared", everywhere, "wrong result"},
    {"ignored_out_of_memory", plain | asan | tsan, "SEGV"},
    // host code
    {"wrong_device", everywhere, "without peer access"},
    {"host_pointer_in_a_view", everywhere, "plain host memory"},
    {"missing_event", everywhere, "wrong result"},
    {"early_free", everywhere, "has been freed"},
    {"use_after_free", everywhere, "has been freed"},
    {"double_free", everywhere, "freed twice"},
    {"used_before_allocated", everywhere, "only allocate later"},
    {"copy_too_long", everywhere, "of an array of"},
    {"copy_past_a_page", everywhere, "of a page-locked array of"},
    {"copy_onto_itself", everywhere, "bytes that it also reads"},
    {"host_reads_device_memory", asan, "use-after-poison"},
    {"result_not_waited_for", everywhere, "wrong result"},
    {"last_device_not_waited_for", everywhere, "wrong result"},
    {"source_changed_before_copy", everywhere, "wrong result"},
};

}  // namespace tulle::test
