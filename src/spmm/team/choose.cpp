// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Rows or columns for a team, from counts alone. By rows a member with memory of its own gets its part of A once and
// all of B in every call; by columns all of A once and its part of B in every call. C moves alike both ways.
#include <algorithm>
#include <array>

#include "base/enumerators.hpp"
#include "base/suggest.hpp"
#include "tulle/error.hpp"
#include "tulle/spmm_team.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr std::array split_names{"automatic", "rows", "columns"};
constexpr std::size_t sector_bytes = 32;  // what a GPU's memory delivers at once: shorter rows of B are fetched in vain

}  // namespace

std::string to_text(SplitBy split) { return name_in(split_names, split); }

SplitBy parse_split(std::string_view name)
{
    const auto found = std::find(split_names.begin(), split_names.end(), name);
    require<ValueError>(
        found != split_names.end(), [&] { return concat("a product cannot be split by '", name, "'"); },
        one_of_hint(name, split_names));
    return static_cast<SplitBy>(found - split_names.begin());
}

SplitChoice choose_split(const SplitFeatures& x)
{
    const auto number = [](auto n) { return static_cast<double>(n); };
    const double matrix =
        number(x.nonzeros) * number(x.value_bytes + sizeof(index_t)) + number(offset_t{x.rows} + 1) * sizeof(offset_t);
    const double dense = number(x.cols) * number(x.n) * number(x.value_bytes), part = 1 / number(x.members),
                 calls = std::max(1.0, x.expected_calls);
    SplitChoice c{.split = SplitBy::rows,
                  .by_rows = x.devices * (dense + part * matrix / calls),
                  .by_columns = x.devices * (part * dense + matrix / calls),
                  .why = {}};
    if (x.devices == 0) c.why = "all members are on the host and nothing moves";
    else if (c.by_columns >= c.by_rows) c.why = "all of A for everybody would be more than all of B is";
    else if (static_cast<std::size_t>(x.n) * x.value_bytes < sector_bytes * static_cast<std::size_t>(x.members))
        c.why = "a part of B's columns would be too narrow";
    else c = {SplitBy::columns, c.by_rows, c.by_columns, "all of A for everybody is less than all of B"};
    return c;
}

}  // namespace tulle::inline TULLE_ABI::spmm
