// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Marks what a shared library shows; everything else is hidden.
#pragma once

#define TULLE_API __attribute__((visibility("default")))

// Everything of tulle is in this inline namespace, so that the symbols of two versions that cannot replace one another
// differ: v0_MINOR, as the SOVERSION of the shared library.
#define TULLE_ABI v0_1
