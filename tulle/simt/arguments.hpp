// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Finds the pointers among a kernel's arguments, also inside views, so that they can be checked against the device that runs the kernel.
//
// A view is an aggregate of pointers and numbers; structured bindings take it apart. How many members it has is found by trying how many
// initialisers it accepts, once plainly and once in braces: where the two differ (arrays as members) the struct is left alone.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tulle/simt/launch.hpp"

namespace tulle::simt {

struct Anything {
    template <class T>
    operator T() const;
};

template <std::size_t>
using AnythingAt = Anything;

template <class T, std::size_t... I>
constexpr bool takes_plain(std::index_sequence<I...>)
{
    return requires { T{AnythingAt<I>{}...}; };
}

template <class T, std::size_t... I>
constexpr bool takes_braced(std::index_sequence<I...>)
{
    return requires { T{{AnythingAt<I>{}}...}; };
}

inline constexpr std::size_t most_members = 12;

// The largest number of initialisers accepted; one more than most_members when it may be even larger.
template <class T, bool Braced, std::size_t N = most_members + 1>
constexpr std::size_t count_members()
{
    if constexpr (N == 0)
        return 0;
    else if constexpr (Braced ? takes_braced<T>(std::make_index_sequence<N>{}) : takes_plain<T>(std::make_index_sequence<N>{}))
        return N;
    else
        return count_members<T, Braced, N - 1>();
}

template <class T>
constexpr std::size_t members_of()
{
    if constexpr (!std::is_aggregate_v<T> || std::is_array_v<T> || std::is_empty_v<T>) {
        return 0;
    } else {
        constexpr std::size_t plain = count_members<T, false>(), braced = count_members<T, true>();
        return plain == braced && plain <= most_members ? plain : 0;
    }
}

// The members of a struct as a tuple of references.
template <class T>
auto members(const T& s)
{
    constexpr std::size_t n = members_of<T>();
    if constexpr (n == 1) {
        const auto& [a] = s;
        return std::tie(a);
    } else if constexpr (n == 2) {
        const auto& [a, b] = s;
        return std::tie(a, b);
    } else if constexpr (n == 3) {
        const auto& [a, b, c] = s;
        return std::tie(a, b, c);
    } else if constexpr (n == 4) {
        const auto& [a, b, c, d] = s;
        return std::tie(a, b, c, d);
    } else if constexpr (n == 5) {
        const auto& [a, b, c, d, e] = s;
        return std::tie(a, b, c, d, e);
    } else if constexpr (n == 6) {
        const auto& [a, b, c, d, e, f] = s;
        return std::tie(a, b, c, d, e, f);
    } else if constexpr (n == 7) {
        const auto& [a, b, c, d, e, f, g] = s;
        return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (n == 8) {
        const auto& [a, b, c, d, e, f, g, h] = s;
        return std::tie(a, b, c, d, e, f, g, h);
    } else if constexpr (n == 9) {
        const auto& [a, b, c, d, e, f, g, h, i] = s;
        return std::tie(a, b, c, d, e, f, g, h, i);
    } else if constexpr (n == 10) {
        const auto& [a, b, c, d, e, f, g, h, i, j] = s;
        return std::tie(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (n == 11) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (n == 12) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
        return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
    } else {
        return std::tuple<>();
    }
}

template <class T>
void collect_pointers(const T& value, int argument, std::vector<PointerArgument>& found)
{
    if constexpr (std::is_pointer_v<T>) {
        if constexpr (!std::is_function_v<std::remove_pointer_t<T>>) found.push_back({value, argument});
    } else if constexpr (std::is_class_v<T>) {
        std::apply([&](const auto&... member) { (collect_pointers(member, argument, found), ...); }, members(value));
    }
}

template <class... T>
std::vector<PointerArgument> pointers_in(const std::tuple<T...>& arguments)
{
    std::vector<PointerArgument> found;
    int argument = 0;
    std::apply([&](const auto&... value) { (collect_pointers(value, ++argument, found), ...); }, arguments);
    return found;
}

}  // namespace tulle::simt
