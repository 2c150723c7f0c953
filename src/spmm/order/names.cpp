// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "base/enumerators.hpp"
#include "base/suggest.hpp"
#include "tulle/error.hpp"
#include "tulle/spmm.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr std::array<const char*, 5> order_names{"natural", "degree", "minhash", "pack", "bsa"};

}  // namespace

std::string to_text(OrderKind kind) { return name_in(order_names, kind); }

std::string to_text(Dispersion dispersion) { return dispersion == Dispersion::paper ? "paper" : "released"; }

OrderKind parse_order(std::string_view name)
{
    const auto found = std::find(order_names.begin(), order_names.end(), name);
    require<ValueError>(
        found != order_names.end(), [&] { return concat("there is no row order '", name, "'"); },
        one_of_hint(name, order_names));
    return static_cast<OrderKind>(found - order_names.begin());
}

}  // namespace tulle::inline TULLE_ABI::spmm
