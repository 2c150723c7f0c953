// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Panels from a pattern: a table finds each panel's distinct columns and the slabs that use them; these sorted by slabs
// give its chunks. Panels are counted first, so that each knows where its chunks, tiles and values begin, and then
// written, in parallel both times.
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/math.hpp"
#include "prim/scan.hpp"
#include "spmm/steps.hpp"
#include "tulle/memory.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

constexpr offset_t least_unit = 8;  // chunks that are worth a block of their own; 32 were no faster on an H200

struct Column {
    index_t col;
    unsigned used_by;  // mask of slabs
};

// Calls visit(row of the matrix, row of the panel).
template <class Visit>
void for_each_row(const Pattern& a, const index_t* row, index_t panel, Visit&& visit)
{
    const index_t first = panel * panel_rows, last = std::min<index_t>(a.rows - first, panel_rows);
    for (index_t r = 0; r < last; ++r) visit(row ? row[first + r] : first + r, static_cast<int>(r));
}

offset_t nonzeros_of(const Pattern& a, const index_t* row, index_t panel)
{
    offset_t all = 0;
    for_each_row(a, row, panel, [&](index_t i, int) { all += a.row_begin[i + 1] - a.row_begin[i]; });
    return all;
}

// One panel at work: its distinct columns, and a table that tells where each stands among them.
struct Panel {
    std::vector<Column> column;        // by Gray's order of the slabs, then by number
    std::vector<std::uint32_t> table;  // a column's place, plus one; 0: vacant. Half of it at most is in use
    unsigned mask = 0;

    // Room for so many distinct columns.
    void reserve(offset_t columns)
    {
        column.reserve(static_cast<std::size_t>(columns));
        table.resize(std::bit_ceil(2 * static_cast<std::size_t>(columns) + 1));
    }

    std::uint32_t& slot_of(index_t col)
    {
        for (std::size_t slot = (static_cast<std::uint32_t>(col) * 0x9e3779b1u) & mask;; slot = (slot + 1) & mask)
            if (table[slot] == 0 || column[table[slot] - 1].col == col) return table[slot];
    }
    int place_of(index_t col) { return static_cast<int>(slot_of(col)) - 1; }

    void look(const Pattern& a, const index_t* row, index_t panel)
    {
        column.clear();
        const offset_t nonzeros = nonzeros_of(a, row, panel);
        const std::size_t slots =
            std::min(table.size(), std::bit_ceil(2 * static_cast<std::size_t>(nonzeros) + 1));  // few stay in the cache
        mask = static_cast<unsigned>(slots - 1);
        std::fill_n(table.begin(), slots, 0u);
        for_each_row(a, row, panel, [&](index_t i, int r) {
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
                std::uint32_t& slot = slot_of(a.col[k]);
                if (slot == 0) {
                    column.push_back({a.col[k], 0});
                    slot = static_cast<std::uint32_t>(column.size());
                }
                column[slot - 1].used_by |= 1u << (r / slab_rows);
            }
        });
        std::sort(column.begin(), column.end(), [](const Column& x, const Column& y) { return key_of(x) < key_of(y); });
        std::fill_n(table.begin(), slots, 0u);  // and again, with the places that they have now
        for (std::size_t k = 0; k < column.size(); ++k) slot_of(column[k].col) = static_cast<std::uint32_t>(k + 1);
    }

    // The slabs that a chunk of so many columns has tiles for.
    unsigned slabs_of(offset_t chunk, int columns) const
    {
        unsigned all = 0;
        for (offset_t c = chunk * columns; c < std::min(std::ssize(column), (chunk + 1) * columns); ++c)
            all |= column[static_cast<std::size_t>(c)].used_by;
        return all;
    }

private:
    static std::uint64_t key_of(const Column& c)
    {
        return static_cast<std::uint64_t>(gray_rank(c.used_by)) << 32 | static_cast<std::uint32_t>(c.col);
    }
};

// Nonzero `at` of the matrix in row r of the panel and column c of the chunk; false if one was there.
template <class V>
bool put_nonzero(Panels<V>& to, const Chunk<V>& chunk, int r, int c, offset_t at)
{
    const LanePlace place = lane_place<V>(r % slab_rows, c);
    const offset_t lane = chunk.tile(r / slab_rows) * 32 + place.lane;
    const bool was_there = to.present.data()[lane] >> place.value & 1u;
    to.present.data()[lane] = static_cast<std::uint8_t>(to.present.data()[lane] | 1u << place.value);
    to.place.data()[at] = lane * values_per_lane<V> + place.value;
    return !was_there;
}

void require_unique(bool unique)
{
    require<ValueError>(unique, "a matrix that stores positions twice does not fit panels",
                        "add them up (sum_duplicates), or use the policy 'rows'");
}
void require_tiles(offset_t tiles)
{
    require<ValueError>(tiles <= std::numeric_limits<std::uint32_t>::max(),
                        [&] { return concat("panels of ", tiles, " tiles exceed 32 bits"); });
}

// All chunks of a panel, from the given places on; false where a position is stored twice.
template <class V>
bool write_panel(const Pattern& a, const index_t* row, index_t number, Panel& panel, offset_t first_chunk,
                 offset_t tile, Panels<V>& to)
{
    constexpr int columns = chunk_columns<V>;
    for (offset_t at = 0; at * columns < std::ssize(panel.column); ++at) {
        Chunk<V>& chunk = to.chunk.data()[first_chunk + at];
        chunk = {.col = {},
                 .first = static_cast<std::uint32_t>(tile),
                 .slabs = panel.slabs_of(at, columns),
                 .unused = {}};
        for (int c = 0; c < columns; ++c) {
            const offset_t k = at * columns + c;
            chunk.col[c] = k < std::ssize(panel.column) ? panel.column[static_cast<std::size_t>(k)].col : -1;
        }
        const offset_t tiles = __builtin_popcount(chunk.slabs);
        std::fill_n(to.present.data() + tile * 32, tiles * 32, std::uint8_t{0});
        tile += tiles;
    }
    bool unique = true;
    for_each_row(a, row, number, [&](index_t i, int r) {
        for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
            const int place = panel.place_of(a.col[k]);
            unique &= put_nonzero(to, to.chunk.data()[first_chunk + place / columns], r, place % columns, k);
        }
    });
    return unique;
}

// Panels cut into units of at most `most` chunks, as even as they can be; an empty panel is a unit as well, because its
// rows of C are written.
Buffer<PanelUnit> cut_units(const CpuQueue& q, const offset_t* chunk_begin, index_t panels, offset_t most,
                            std::int32_t& slots)
{
    std::vector<PanelUnit> unit;
    for (index_t p = 0; p < panels; ++p) {
        const offset_t begin = chunk_begin[p], chunks = chunk_begin[p + 1] - begin,
                       pieces = std::max(offset_t{1}, ceil_div(chunks, most));
        require<ValueError>(slots + pieces <= std::numeric_limits<std::int32_t>::max(),
                            "too many pieces of long panels");
        for (offset_t k = 0; k < pieces; ++k)
            unit.push_back({begin + chunks * k / pieces, begin + chunks * (k + 1) / pieces, p, pieces == 1 ? -1 : slots,
                            static_cast<std::int32_t>(k), static_cast<std::int32_t>(pieces)});
        if (pieces > 1) slots += static_cast<std::int32_t>(pieces);
    }
    return to_queue(q, unit.data(), std::ssize(unit));
}

// Room for every thread's panel, so that nothing is allocated, and nothing can fail, while they work.
std::vector<Panel> make_workers(const CpuQueue& q, const Pattern& a, const index_t* row, index_t panels)
{
    offset_t most = 0;
    for (index_t p = 0; p < panels; ++p) {
        most = std::max(most, nonzeros_of(a, row, p));
    }
    std::vector<Panel> workers(static_cast<std::size_t>(q.threads));
    for (Panel& panel : workers) panel.reserve(std::min<offset_t>(most, a.cols));
    return workers;
}

}  // namespace

template <class V>
Panels<V> make_panels(const CpuQueue& q, const Pattern& a, const index_t* row, offset_t units)
{
    const index_t panels = ceil_div(a.rows, index_t{panel_rows});
    Buffer<offset_t> chunk_begin(q, offset_t{panels} + 1), tile_begin(q, offset_t{panels} + 1);
    std::vector<Panel> workers = make_workers(q, a, row, panels);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 16)
    for (index_t p = 0; p < panels; ++p) {
        Panel& panel = workers[static_cast<std::size_t>(omp_get_thread_num())];
        panel.look(a, row, p);
        const offset_t chunks = ceil_div<offset_t>(std::ssize(panel.column), chunk_columns<V>);
        offset_t tiles = 0;
        for (offset_t c = 0; c < chunks; ++c) tiles += __builtin_popcount(panel.slabs_of(c, chunk_columns<V>));
        chunk_begin.data()[p] = chunks;
        tile_begin.data()[p] = tiles;
    }
    for (Buffer<offset_t>* count : {&chunk_begin, &tile_begin})
        prim::exclusive_scan(q, count->data(), count->data(), panels);
    const offset_t chunks = chunk_begin.data()[panels], tiles = tile_begin.data()[panels];
    require_tiles(tiles);

    Panels<V> to{.rows = a.rows,
                 .nonzeros = a.nonzeros,
                 .slots = 0,
                 .row = {},
                 .unit = {},
                 .chunk = Buffer<Chunk<V>>(q, chunks),
                 .value = {},
                 .present = Buffer<std::uint8_t>(q, tiles * 32),
                 .place = Buffer<offset_t>(q, a.nonzeros)};
    std::atomic<bool> repeats{false};
    to.unit = cut_units(q, chunk_begin.data(), panels, std::max(least_unit, ceil_div(chunks, units)), to.slots);
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 16)
    for (index_t p = 0; p < panels; ++p) {
        Panel& panel = workers[static_cast<std::size_t>(omp_get_thread_num())];
        panel.look(a, row, p);
        if (!write_panel(a, row, p, panel, chunk_begin.data()[p], tile_begin.data()[p], to)) repeats = true;
    }
    require_unique(!repeats);
    return to;
}

template <class V>
Panels<V> make_dense_panels(const CpuQueue& q, const Pattern& a)
{
    const index_t panels = ceil_div(a.rows, index_t{panel_rows}), chunks = ceil_div(a.cols, index_t{chunk_columns<V>});
    const offset_t all = checked_product(panels, chunks, "chunks of a dense matrix"),
                   tiles = checked_product(all, slabs, "tiles of a dense matrix");
    require_tiles(tiles);
    std::vector<PanelUnit> unit;
    for (index_t p = 0; p < panels; ++p)
        unit.push_back({p * offset_t{chunks}, (p + 1) * offset_t{chunks}, p, -1, 0, 1});
    Panels<V> to{.rows = a.rows,
                 .nonzeros = a.nonzeros,
                 .slots = 0,
                 .row = {},
                 .unit = to_queue(q, unit.data(), std::ssize(unit)),
                 .chunk = Buffer<Chunk<V>>(q, all),
                 .value = {},
                 .present = Buffer<std::uint8_t>(q, tiles * 32),
                 .place = Buffer<offset_t>(q, a.nonzeros)};
    std::atomic<bool> repeats{false};
#pragma omp parallel for num_threads(q.threads) schedule(dynamic, 1)
    for (index_t p = 0; p < panels; ++p) {
        for (index_t k = 0; k < chunks; ++k) {
            Chunk<V>& chunk = to.chunk.data()[offset_t{p} * chunks + k];
            chunk = {.col = {},
                     .first = static_cast<std::uint32_t>((offset_t{p} * chunks + k) * slabs),
                     .slabs = (1u << slabs) - 1,
                     .unused = {}};
            for (index_t c = 0; c < chunk_columns<V>; ++c)
                chunk.col[c] = k * chunk_columns<V> + c < a.cols ? k * chunk_columns<V> + c : -1;
        }
        std::fill_n(to.present.data() + offset_t{p} * chunks * slabs * 32, offset_t{chunks} * slabs * 32,
                    std::uint8_t{0});
        for_each_row(a, nullptr, p, [&](index_t i, int r) {
            for (offset_t k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
                const Chunk<V>& chunk = to.chunk.data()[offset_t{p} * chunks + a.col[k] / chunk_columns<V>];
                if (!put_nonzero(to, chunk, r, a.col[k] % chunk_columns<V>, k)) repeats = true;
            }
        });
    }
    require_unique(!repeats);
    return to;
}

template Panels<Float16> make_dense_panels(const CpuQueue&, const Pattern&);
template Panels<Bfloat16> make_dense_panels(const CpuQueue&, const Pattern&);
template Panels<float> make_dense_panels(const CpuQueue&, const Pattern&);
template Panels<double> make_dense_panels(const CpuQueue&, const Pattern&);
template Panels<Float16> make_panels(const CpuQueue&, const Pattern&, const index_t*, offset_t);
template Panels<Bfloat16> make_panels(const CpuQueue&, const Pattern&, const index_t*, offset_t);
template Panels<float> make_panels(const CpuQueue&, const Pattern&, const index_t*, offset_t);

}  // namespace tulle::inline TULLE_ABI::spmm
