// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Pairs of matrices to multiply: the battery by itself and its transpose, and pairs that lead rows of C into every
// accumulator there is.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spgemm/oracle.hpp"
#include "support/battery.hpp"

namespace tulle::test {

template <class V>
struct Pair {
    std::string name;
    HostCsr<V> a, b;
};

// Every row of `a` `times` times, one after the other: runs of rows with equal columns.
template <class V>
HostCsr<V> repeated(const HostCsr<V>& a, index_t times, Values values)
{
    std::vector<std::tuple<index_t, index_t, V>> entries;
    for (const auto& [i, j, v] : a.entries())
        for (index_t k = 0; k < times; ++k)
            for (index_t l = 0; l < times; ++l)
                entries.emplace_back(i * times + k, j * times + l,
                                     test_value<V>(values, 71, i * times + k, j * times + l));
    std::sort(entries.begin(), entries.end(), [](const auto& x, const auto& y) {
        return std::pair(std::get<0>(x), std::get<1>(x)) < std::pair(std::get<0>(y), std::get<1>(y));
    });
    return csr_of<V>(a.rows * times, a.cols * times, entries);
}

// A row of A with `length` nonzeros meets rows of B with `width` columns `stride` apart, which overlap by all but
// `fresh` of them.
template <class V>
Pair<V> long_row(const std::string& name, index_t length, index_t width, index_t fresh, index_t stride, Values values)
{
    std::vector<std::tuple<index_t, index_t, V>> a, b;
    for (index_t k = 0; k < length; ++k) {
        a.emplace_back(1, k, test_value<V>(values, 5, 1, k));
        for (index_t w = 0; w < width; ++w) b.emplace_back(k, (k * fresh + w) * stride, test_value<V>(values, 6, k, w));
    }
    a.emplace_back(2, 0, V(1));
    return {name, csr_of<V>(4, length, a), csr_of<V>(length, (length * fresh + width) * stride + 1, b)};
}

// Rows of A with one to `most` nonzeros each; rows of B of all lengths up to `longest`, most of them short, some at the
// same columns, some empty.
template <class V>
Pair<V> lists_of_all_lengths(index_t rows, index_t most, index_t longest, index_t cols, Values values)
{
    std::vector<std::tuple<index_t, index_t, V>> a, b;
    for (index_t i = 0; i < rows; ++i) {
        const auto count = 1 + static_cast<index_t>(below(hash_of(41, i), static_cast<std::uint64_t>(most)));
        std::vector<index_t> col;
        for (index_t k = 0; k < count; ++k)
            col.push_back(static_cast<index_t>(below(hash_of(42, i, k), static_cast<std::uint64_t>(rows))));
        std::sort(col.begin(), col.end());
        col.erase(std::unique(col.begin(), col.end()), col.end());
        for (const index_t j : col) a.emplace_back(i, j, test_value<V>(values, 43, i, j));
        const index_t length = i % 7 == 3   ? 0
                               : i % 5 == 0 ? longest - i % 3
                                            : 1 + static_cast<index_t>(below(hash_of(44, i), 9));
        const index_t step = std::max(1, cols / longest / (1 + i % 3)),
                      first = i % 4 == 0
                                  ? 0
                                  : static_cast<index_t>(
                                        below(hash_of(45, i), static_cast<std::uint64_t>(cols - length * step + 1)));
        for (index_t w = 0; w < length; ++w) b.emplace_back(i, first + w * step, test_value<V>(values, 46, i, w));
    }
    return {"", csr_of<V>(rows, rows, a), csr_of<V>(rows, cols, b)};
}

// Rows of C from four lists of 16 entries: a warp has no room for 32 of them at once.
template <class V>
Pair<V> crowded_lists(Values values)
{
    const auto a = matrix_where<V>(70, 70, values, 47, [](index_t i, index_t j) {
        return (j - i + 70) % 70 % 13 == 0 && (j - i + 70) % 70 < 52;
    });
    return {"", a, matrix_where<V>(70, 400, values, 48, [](index_t i, index_t j) { return (j + 3 * i) % 25 == 0; })};
}

// Blocks of a thousand threads are slow in a simulator, and DeltaSPARSE has them for every dense row.
template <class V>
bool slow_by_blocks(const Pair<V>& pair)
{
    return build::simulated && pair.a.rows > 100;
}

template <class V>
std::vector<Pair<V>> products(Values values)
{
    std::vector<Pair<V>> all;
    unsigned number = 0;
    const auto add = [&](const std::string& name, auto make) {
        if (!has_turn(number++)) return;
        Pair<V> pair = make();
        pair.name = name;
        all.push_back(std::move(pair));
    };
    for (const auto& [name, a] : battery<V>(values)) {
        if (a.rows == a.cols) all.push_back({name + " by itself", a, a});
        if (a.rows <= 300) all.push_back({name + " by its transpose", a, transposed(a)});
        if (a.cols <= 300) all.push_back({name + ", its transpose by it", transposed(a), a});
    }
    add("full row and column", [&] {
        const auto a = matrix_where<V>(70, 70, values, 31, [](index_t i, index_t j) { return i == 0 || j == 0; });
        return Pair<V>{"", a, a};
    });
    for (const index_t times : {2, 3, 5, 6})
        add("runs of " + std::to_string(times), [&] {
            const auto a = repeated(matrix_where<V>(24, 24, values, 32,
                                                    [](index_t i, index_t j) {
                                                        return std::abs(i - j) <= 1 || (i + 2 * j) % 11 == 0;
                                                    }),
                                    times, values);
            return Pair<V>{"", a, a};
        });
    add("runs in A alone", [&] {
        return Pair<V>{"", repeated(random_matrix<V>(20, 25, 0.2, values, 33), 3, values),
                       random_matrix<V>(75, 90, 0.1, values, 34)};
    });
    add("runs in B alone", [&] {
        return Pair<V>{"", random_matrix<V>(30, 75, 0.3, values, 35),
                       repeated(random_matrix<V>(25, 20, 0.2, values, 36), 3, values)};
    });
    add("one long run", [&] {
        const auto a = matrix_where<V>(140, 40, values, 37, [](index_t i, index_t j) { return i >= 5 && j % 3 == 0; });
        return Pair<V>{"", a, random_matrix<V>(40, 50, 0.2, values, 38)};
    });
    add("up to 4 lists", [&] { return lists_of_all_lengths<V>(90, 4, 12, 2000, values); });
    add("up to 8 lists", [&] { return lists_of_all_lengths<V>(70, 8, 12, 500, values); });
    add("up to 4 lists in pieces", [&] { return lists_of_all_lengths<V>(60, 4, 200, 3000, values); });
    add("up to 8 lists in pieces", [&] { return lists_of_all_lengths<V>(50, 8, 97, 300, values); });
    add("lists that do not fit at once", [&] { return crowded_lists<V>(values); });
    add("lists that follow each other", [&] { return long_row<V>("", 3, 96, 96, 2, values); });
    add("lists that are equal", [&] { return long_row<V>("", 5, 130, 0, 3, values); });
    add("columns a power of two apart", [&] { return long_row<V>("", 20, 30, 7, 4096, values); });
    add("short rows of B", [&] { return long_row<V>("", 120, 3, 1, 501, values); });
    add("300 columns wide apart", [&] { return long_row<V>("", 30, 40, 9, 1001, values); });
    add("512 columns exactly", [&] { return long_row<V>("", 8, 64, 64, 900, values); });
    add("513 columns", [&] { return long_row<V>("", 27, 19, 19, 900, values); });
    add("1024 columns exactly", [&] { return long_row<V>("", 8, 128, 128, 777, values); });
    add("1025 columns", [&] { return long_row<V>("", 41, 25, 25, 777, values); });
    add("1500 columns", [&] { return long_row<V>("", 25, 100, 60, 800, values); });
    add("3000 columns", [&] { return long_row<V>("", 30, 150, 100, 333, values); });
    all.push_back(long_row<V>("9000 columns of 30000", 20, 700, 450, 3,
                              values));  // always: nothing else leads nsparse into global memory on every GPU
    add("rows for warps and for blocks", [&] { return lists_of_all_lengths<V>(40, 30, 600, 1500, values); });
    add("40000 columns, nearly full", [&] { return long_row<V>("", 10, 5000, 4000, 1, values); });
    return all;
}

}  // namespace tulle::test
