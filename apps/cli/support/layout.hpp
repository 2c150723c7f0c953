// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Text in the terminal: numbers with units, tables, lists of facts, bars.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/support/console.hpp"
#include "apps/cli/support/session.hpp"
#include "tulle/features.hpp"

namespace tulle::cli {

std::string seconds_text(double seconds);                                      // "1.23 ms"
std::string rate_text(double bytes_per_second);                                // "12.3 GB/s"
std::string share_text(double share);                                          // "0.103 %"
std::string number_text(double number);                                        // four figures: "64.17"
std::string hex_text(std::uint64_t number);                                    // 16 digits
std::string counted(offset_t n, std::string_view one, std::string_view many);  // "1 row", "1 200 rows"

// What a plan says of itself, with a line end; what else could have been chosen only with --verbose.
std::string shown(const Session& session, std::string description);

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::right;
};

class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row);
    std::string text(const Console& console) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// A heading and what is known under it, keys in one column.
struct Facts {
    std::string title;
    std::vector<std::pair<std::string, std::string>> items;
    void add(std::string key, std::string value) { items.emplace_back(std::move(key), std::move(value)); }
    std::string text(const Console& console) const;
};

// A bar of so many cells, to an eighth of a cell where the terminal can draw that.
std::string bar_text(double cells, bool unicode);

// How many rows have which length, as bars: one line for each power of two that occurs, empty ranges between them
// included.
std::string row_length_bars(const Console& console, const RowStatistics& row);

}  // namespace tulle::cli
