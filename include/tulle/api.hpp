// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Marks what a shared library shows; everything else is hidden.
#pragma once

#define TULLE_API __attribute__((visibility("default")))
