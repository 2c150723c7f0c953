// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Finds the pointers among a kernel's arguments, also inside views, so that they can be checked against the device that
// runs the kernel.
//
// A view is an aggregate of pointers and numbers; structured bindings take it apart. How many members it has is found
// by trying how many initialisers it accepts, once plainly and once in braces: where the two differ (arrays as members)
// the struct is left alone.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/launch.hpp"

namespace tulle::inline TULLE_ABI::simt {

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
template <class T, std::size_t N = most_members + 1>
constexpr std::size_t count_members()
{
    if constexpr (N == 0) return 0;
    else if constexpr (takes_plain<T>(std::make_index_sequence<N>{})) return N;
    else return count_members<T, N - 1>();
}

template <class T>
constexpr std::size_t members_of()
{
    if constexpr (!std::is_aggregate_v<T> || std::is_array_v<T> || std::is_empty_v<T>) {
        return 0;
    } else {
        constexpr std::size_t n = count_members<T>();
        return n <= most_members && takes_braced<T>(std::make_index_sequence<n>{}) &&
                       !takes_braced<T>(std::make_index_sequence<n + 1>{})
                   ? n
                   : 0;
    }
}

template <class T>
void collect_pointers(const T& value, int argument, std::vector<PointerArgument>& found);

template <class... T>
void collect_all(int argument, std::vector<PointerArgument>& found, const T&... member)
{
    (collect_pointers(member, argument, found), ...);
}

template <class T>
void collect_members(const T& s, int argument, std::vector<PointerArgument>& found)
{
    constexpr std::size_t n = members_of<T>();
    if constexpr (n == 1) {
        const auto& [a] = s;
        collect_all(argument, found, a);
    } else if constexpr (n == 2) {
        const auto& [a, b] = s;
        collect_all(argument, found, a, b);
    } else if constexpr (n == 3) {
        const auto& [a, b, c] = s;
        collect_all(argument, found, a, b, c);
    } else if constexpr (n == 4) {
        const auto& [a, b, c, d] = s;
        collect_all(argument, found, a, b, c, d);
    } else if constexpr (n == 5) {
        const auto& [a, b, c, d, e] = s;
        collect_all(argument, found, a, b, c, d, e);
    } else if constexpr (n == 6) {
        const auto& [a, b, c, d, e, f] = s;
        collect_all(argument, found, a, b, c, d, e, f);
    } else if constexpr (n == 7) {
        const auto& [a, b, c, d, e, f, g] = s;
        collect_all(argument, found, a, b, c, d, e, f, g);
    } else if constexpr (n == 8) {
        const auto& [a, b, c, d, e, f, g, h] = s;
        collect_all(argument, found, a, b, c, d, e, f, g, h);
    } else if constexpr (n == 9) {
        const auto& [a, b, c, d, e, f, g, h, i] = s;
        collect_all(argument, found, a, b, c, d, e, f, g, h, i);
    } else if constexpr (n == 10) {
        const auto& [a, b, c, d, e, f, g, h, i, j] = s;
        collect_all(argument, found, a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (n == 11) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
        collect_all(argument, found, a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (n == 12) {
        const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
        collect_all(argument, found, a, b, c, d, e, f, g, h, i, j, k, l);
    }
}

template <class T>
void collect_pointers(const T& value, int argument, std::vector<PointerArgument>& found)
{
    if constexpr (std::is_pointer_v<T>) {
        if constexpr (!std::is_function_v<std::remove_pointer_t<T>>) add_pointer(value, argument, found);
    } else if constexpr (members_of<T>() > 0) {
        collect_members(value, argument, found);
    }
}

// One function for each struct, and one for pointers of all kinds.
template <class T>
void find_pointers(const void* value, int argument, std::vector<PointerArgument>& found)
{
    collect_pointers(*static_cast<const T*>(value), argument, found);
}

template <class T>
Argument argument_of(const T& value)
{
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16, "a GPU gets its arguments as bytes");
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
        return {&value, sizeof value, find_pointers<const void*>};
    else if constexpr (members_of<T>() > 0) return {&value, sizeof value, find_pointers<T>};
    else return {&value, sizeof value, nullptr};
}

}  // namespace tulle::inline TULLE_ABI::simt
