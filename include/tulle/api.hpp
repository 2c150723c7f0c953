// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Export mark and ABI namespace of the library.
#pragma once

/// Marks a name that the shared library exports; all other names are hidden.
#define TULLE_API __attribute__((visibility("default")))

/// Inline namespace that contains all of tulle, so that the symbols of incompatible versions differ: v0_MINOR, as the
/// SOVERSION of the shared library. User code does not write it.
#define TULLE_ABI v0_1
