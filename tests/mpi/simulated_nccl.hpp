// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// NCCL for simulated GPUs and threads as ranks. Messages are work on streams, done when it is their turn: nothing is
// there unless somebody has waited for it. The functions of NCCL are found in the program itself (TULLE_NCCL is empty).
#pragma once

#include <functional>

namespace tulle::testing {

// Called when a message has come and is about to be put into the memory of a rank; inside a stream, nothing may wait.
std::function<void(int rank)>& when_received();

// Messages that this rank sends from now on never leave it; -1: none.
void keep_messages_of(int rank);

}  // namespace tulle::testing
