// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Which order pays: one cost ranks them all, and an order is taken only if its making is earned back within the
// expected calls.
//
//     OrderChoice c = choose_order(ctx, pattern_of(A.view()), {.n = 128, .value_bytes = 2, .expected_calls = 100});
//     … c.order …;  std::puts(c.why.c_str());
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tulle/spmm.hpp"

namespace tulle::inline TULLE_ABI::spmm {

// Seconds of one multiplication by panels of 64 rows: start + N * (per_byte * pairs * value_bytes + per_tile_column *
// tiles + per_panel_column * panels); by rows: start + N * (per_nonzero_column * nonzeros + per_panel_column * rows /
// 64). What streams from memory beside that: per_memory_byte.
struct CostModel {
    double start = 0, per_byte = 0, per_tile_column = 0, per_panel_column = 0, per_nonzero_column = 0,
           per_memory_byte = 0;
};

// Fitted to what the kernels took on an H200 (choose.cpp has the table), or 10 GB/s for each thread of a CPU.
// `value_bytes`: of a number of A and B.
TULLE_API CostModel cost_model(Backend backend, int threads = 1, std::size_t value_bytes = 2);

TULLE_API double multiply_seconds(const CostModel& model, const PanelCost& cost, index_t n, std::size_t value_bytes);
TULLE_API double rows_seconds(const CostModel& model, index_t rows, offset_t nonzeros, index_t n);

// Seconds it takes to make an order, on a GPU where it is made there, and to count some of its panels; from row and
// nonzero counts alone, so that the choice never depends on how busy a machine is.
TULLE_API double order_seconds(Backend backend, OrderKind kind, index_t rows, offset_t nonzeros, int hashes = 2);

// What so many panels of an order, spread over it by chance, say of all of them: counts grow as nonzeros do. All are
// counted where there are no more, or `panels` is 0. The pattern is not looked through first (panel_cost() does that).
TULLE_API PanelCost sample_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height,
                                index_t panels);

struct OrderQuestion {
    index_t n = 128;              // columns of B
    std::size_t value_bytes = 4;  // of an element of B
    double expected_calls = 100;
    index_t height = 64;                  // rows of a panel
    index_t sample = 64;                  // panels that are counted of each order; 0: all
    bool bsa = false;                     // bsa as well: on graphs with hubs it may take many times its price
    std::optional<Backend> backend = {};  // that will multiply; none: the context's
    OrderOptions options = {};            // tau, alpha, hashes, … of the candidates; its kind plays no part
};

struct OrderCandidate {
    OrderKind kind = OrderKind::natural;
    double call_seconds = 0, order_seconds = 0;
    PanelCost cost = {};
    bool made = true;  // false: could not have paid even if it were perfect, or rows are too alike to be sorted, so it
                       // was not made

    double total(double calls) const { return order_seconds + calls * call_seconds; }
};

struct OrderChoice {
    RowOrder order;
    std::vector<OrderCandidate> candidates;  // natural first
    std::string why;
};

// The candidate that is cheapest over all calls, the first of equals. Pure.
TULLE_API std::size_t cheapest(std::span<const OrderCandidate> candidates, double calls);

// What no order can fall below: every panel full, every column used once at least in each.
TULLE_API PanelCost ideal_cost(const PanelCost& natural, index_t height);

TULLE_API OrderChoice choose_order(const Context& ctx, const Pattern& a, const OrderQuestion& question = {});

}  // namespace tulle::inline TULLE_ABI::spmm
