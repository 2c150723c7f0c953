// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Radix sort from the lowest digit up, eight bits at a time. In every pass each thread counts the digits of its piece,
// the counts are scanned digit by digit and piece by piece, and each thread moves its piece there in order. Every pass
// is stable, so the result is the one stable order, whatever the number of threads. Passes in which all keys have the
// same digit move nothing.
#include "prim/sort.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "prim/cpu/pieces.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::prim {
namespace {

constexpr int digit_bits = 8;
constexpr std::size_t digits = std::size_t{1} << digit_bits;
using Places = std::array<offset_t, digits>;  // of one piece: where its next key with this digit goes

template <class Key>
struct Digit {
    int shift;
    Key mask;
    std::size_t operator()(Key key) const { return static_cast<std::size_t>((key >> shift) & mask); }
};

template <class Key>
void count_digits(const CpuQueue& q, const Pieces& pieces, const Key* key, Digit<Key> digit, std::vector<Places>& count)
{
    each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        Places& mine = count[static_cast<std::size_t>(p)];
        mine.fill(0);
        for (offset_t i = begin; i < end; ++i) ++mine[digit(key[i])];
    });
}

// Turns counts into places. False if a single digit has all n keys: then they stand right already.
bool assign_places(std::vector<Places>& count, offset_t n)
{
    offset_t next = 0;
    for (std::size_t d = 0; d < digits; ++d) {
        const offset_t before = next;
        for (Places& piece : count) next += std::exchange(piece[d], next);
        if (next - before == n) return false;
    }
    return true;
}

template <class Key>
void move_pairs(const CpuQueue& q, const Pieces& pieces, Digit<Key> digit, std::vector<Places>& place, const Key* key,
                const offset_t* payload, Key* key_to, offset_t* payload_to)
{
    each_piece(q, pieces, [&](offset_t p, offset_t begin, offset_t end) {
        Places& mine = place[static_cast<std::size_t>(p)];
        for (offset_t i = begin; i < end; ++i) {
            const offset_t to = mine[digit(key[i])]++;
            key_to[to] = key[i];
            payload_to[to] = payload[i];
        }
    });
}

template <class Key>
void radix_sort(const CpuQueue& q, Key* key, offset_t* payload, offset_t n, int bits)
{
    require_bits<Key>(bits);
    if (n < 2) return;

    const Pieces pieces = piece_per_thread(q, n);
    std::vector<Places> place(static_cast<std::size_t>(pieces.count));
    Buffer<Key> key_room(q, n);
    Buffer<offset_t> payload_room(q, n);
    Key *from = key, *to = key_room.data();
    offset_t *payload_from = payload, *payload_to = payload_room.data();
    for (int shift = 0; shift < bits; shift += digit_bits) {
        const Digit<Key> digit{shift, static_cast<Key>((Key{1} << std::min(digit_bits, bits - shift)) - 1)};
        count_digits(q, pieces, from, digit, place);
        if (!assign_places(place, n)) continue;
        move_pairs(q, pieces, digit, place, from, payload_from, to, payload_to);
        std::swap(from, to);
        std::swap(payload_from, payload_to);
    }
    if (from == key) return;
    copy(q, from, key, n);
    copy(q, payload_from, payload, n);
}

}  // namespace

void sort_pairs(const CpuQueue& q, std::uint64_t* key, offset_t* payload, offset_t n, int bits)
{
    radix_sort(q, key, payload, n, bits);
}

void sort_pairs(const CpuQueue& q, std::uint32_t* key, offset_t* payload, offset_t n, int bits)
{
    radix_sort(q, key, payload, n, bits);
}

}  // namespace tulle::inline TULLE_ABI::prim
