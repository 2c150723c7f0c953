// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A perfect matching of rows and columns with the smallest sum of costs, by shortest augmenting paths with dual
// variables: c_ij - u_i - v_j >= 0, and 0 for the pairs of the matching.
#pragma once

#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "tulle/csr.hpp"
#include "tulle/error.hpp"
#include "tulle/memory.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::factor {

// Costs are log(largest magnitude of the row) - log |a_ij|. Zeros are no entries.
template <class V>
class Matching {
public:
    Matching(const CpuQueue& q, const CsrView<V>& a)
        : a_(a),
          cost_(q, a.nonzeros),
          largest_(q, a.rows),
          u_(q, a.rows),
          v_(q, a.rows),
          distance_(q, a.rows),
          column_of_(q, a.rows),
          row_of_(q, a.rows),
          parent_(q, a.rows)
    {
        compute_costs();
        match_tight_pairs();
        for (index_t i = 0; i < a.rows; ++i)
            if (column_of_.data()[i] < 0) augment(i);
    }

    index_t column_of(index_t row) const { return column_of_.data()[row]; }
    // Scales that make entries of the matching 1 and no other one larger.
    double row_scale(index_t row) const { return std::exp(u_.data()[row]) / largest_.data()[row]; }
    double column_scale(index_t col) const { return std::exp(v_.data()[col]); }

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();
    using Reached = std::pair<double, index_t>;

    [[noreturn]] static void refuse(index_t row)
    {
        throw ValueError(concat("the matrix is structurally singular: ",
                                row == 0
                                    ? std::string("row 0 (counted from 0) has no nonzero")
                                    : concat("rows 0 to ", row, " (counted from 0) have nonzeros in fewer columns")),
                         "such a system has no solution for most right-hand sides");
    }

    template <class F>
    void each_entry(index_t i, F&& work) const
    {
        for (offset_t k = a_.row_begin[i]; k < a_.row_begin[i + 1]; ++k)
            if (cost_.data()[k] < infinite) work(a_.col[k], cost_.data()[k]);
    }

    void compute_costs()
    {
        for (index_t i = 0; i < a_.rows; ++i) {
            double largest = 0;
            for (offset_t k = a_.row_begin[i]; k < a_.row_begin[i + 1]; ++k)
                largest = std::max(largest, std::abs(static_cast<double>(a_.value[k])));
            if (largest == 0) refuse(i);
            largest_.data()[i] = largest;
            for (offset_t k = a_.row_begin[i]; k < a_.row_begin[i + 1]; ++k)
                cost_.data()[k] = std::log(largest) - std::log(std::abs(static_cast<double>(a_.value[k])));
        }
    }

    // The first duals, and pairs without reduced costs.
    void match_tight_pairs()
    {
        for (index_t j = 0; j < a_.rows; ++j) {
            v_.data()[j] = distance_.data()[j] = infinite;
            column_of_.data()[j] = row_of_.data()[j] = -1;
        }
        for (index_t i = 0; i < a_.rows; ++i)
            each_entry(i, [&](index_t j, double c) { v_.data()[j] = std::min(v_.data()[j], c); });
        for (index_t i = 0; i < a_.rows; ++i) {
            double least = infinite;
            each_entry(i, [&](index_t j, double c) { least = std::min(least, c - v_.data()[j]); });
            u_.data()[i] = least;
            each_entry(i, [&](index_t j, double c) {
                if (c - v_.data()[j] <= least && column_of_.data()[i] < 0 && row_of_.data()[j] < 0) pair(i, j);
            });
        }
    }

    void pair(index_t row, index_t col)
    {
        column_of_.data()[row] = col;
        row_of_.data()[col] = row;
    }

    double cost_of(index_t row, index_t col) const
    {
        double found = infinite;
        each_entry(row, [&](index_t j, double c) {
            if (j == col) found = std::min(found, c);
        });
        return found;
    }

    // Dijkstra's search from a row without a column to the nearest column without a row.
    void augment(index_t start)
    {
        std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
        std::vector<index_t> settled, seen;
        double shortest = infinite, so_far = 0;
        index_t end = -1, row = start;
        while (true) {
            each_entry(row, [&](index_t j, double c) {
                const double d = so_far + std::max(0.0, c - u_.data()[row] - v_.data()[j]);
                if (!(d < shortest) || !(d < distance_.data()[j])) return;
                if (distance_.data()[j] == infinite) seen.push_back(j);
                distance_.data()[j] = d;
                parent_.data()[j] = row;
                if (row_of_.data()[j] < 0) shortest = d, end = j;
                else open.emplace(d, j);
            });
            while (!open.empty() && open.top().first > distance_.data()[open.top().second]) open.pop();
            if (open.empty() || open.top().first >= shortest) break;
            so_far = open.top().first;
            settled.push_back(open.top().second);
            row = row_of_.data()[settled.back()];
            open.pop();
        }
        if (end < 0) refuse(start);
        update(start, end, shortest, settled);
        for (const index_t j : seen) distance_.data()[j] = infinite;
    }

    // Turns the pairs along the path, and renews the duals.
    void update(index_t start, index_t end, double shortest, std::vector<index_t>& settled)
    {
        for (const index_t j : settled) v_.data()[j] -= shortest - distance_.data()[j];
        for (index_t j = end, row = -1; row != start;) {
            row = parent_.data()[j];
            const index_t next = column_of_.data()[row];
            pair(row, j);
            j = next;
        }
        settled.push_back(end);
        for (const index_t j : settled) {
            const index_t row = row_of_.data()[j];
            u_.data()[row] = cost_of(row, j) - v_.data()[j];
        }
    }

    const CsrView<V>& a_;
    Buffer<double> cost_, largest_, u_, v_, distance_;
    Buffer<index_t> column_of_, row_of_, parent_;
};

}  // namespace tulle::inline TULLE_ABI::factor
