// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// From the graph to tasks: nodes in the order of their levels and kinds are packed into warps (pack), each task is
// measured (measure), the sizes are added up (place), and every task is written to its place (write). Entries inside
// merged nodes and of late columns stand as they are stored, early ones by the level they come from.
#include "sptrsv/steps.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/math.hpp"

namespace tulle::inline TULLE_ABI::sptrsv {
namespace {

constexpr std::size_t most_entries = most_rows * static_cast<std::size_t>(long_row);

// Everything the tasks are made from.
struct Source {
    const Pattern& t;
    const Sources& sources;
    const Graph& graph;
    Bins rows_of;           // of each node
    Buffer<index_t> order;  // rows in the order of tasks
    Buffer<index_t> place;  // of each row in it
    Buffer<index_t> level;  // of each row
    Packing packing;

    int lanes_of_team() const { return lanes * packing.team; }
    index_t unknown(index_t row) const { return packing.reorder ? place.data()[row] : row; }
};

// Nodes in the order of tasks; task p takes node[begin[p]] … node[begin[p+1]-1].
struct Packs {
    std::vector<index_t> node, begin{0};
    std::vector<std::uint8_t> width;
    Buffer<index_t> first;  // place of the first row of each node in that order, and the end
};

index_t size_of(const Source& s, index_t node)
{
    return s.rows_of.begin.data()[node + 1] - s.rows_of.begin.data()[node];
}

// The nodes of one kind and level; `stretch` rows of them may begin in a task.
void pack_kind(const Source& s, const std::vector<index_t>& nodes, int kind, index_t stretch, Packs& packs)
{
    offset_t begin = 0, task = 0;  // of this node, and the first row of this task
    const auto close = [&] {
        packs.begin.push_back(static_cast<index_t>(packs.node.size()));
        packs.width.push_back(
            static_cast<std::uint8_t>(kind < cluster_kinds ? power_of_two_from(begin - task) : stretch));
        task = begin;
    };
    for (const index_t node : nodes) {
        if (begin > 0 && begin / stretch != (begin - size_of(s, packs.node.back())) / stretch) close();
        packs.node.push_back(node);
        begin += size_of(s, node);
    }
    if (!nodes.empty()) close();
}

Buffer<std::uint8_t> kinds_of(const CpuQueue& host, const Source& s)
{
    Buffer<std::uint8_t> kind(host, s.graph.nodes);
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (index_t node = 0; node < s.graph.nodes; ++node) {
        const index_t first = s.rows_of.item.data()[s.rows_of.begin.data()[node]];
        kind.data()[node] = static_cast<std::uint8_t>(
            kind_of(size_of(s, node), s.t.row_begin.data()[first + 1] - s.t.row_begin.data()[first], s.packing.team));
    }
    return kind;
}

Packs pack(const CpuQueue& host, const Source& s)
{
    const Bins by_level = sort_into(host, s.graph.level.data(), s.graph.nodes, s.graph.levels + 1);
    const Buffer<std::uint8_t> kind = kinds_of(host, s);
    Packs packs;
    packs.node.reserve(static_cast<std::size_t>(s.graph.nodes));
    std::array<std::vector<index_t>, node_kinds> alike;
    for (index_t level = 1; level <= s.graph.levels; ++level) {
        offset_t in_clusters = 0;  // rows of the level
        for (index_t k = by_level.begin.data()[level]; k < by_level.begin.data()[level + 1]; ++k) {
            const index_t node = by_level.item.data()[k];
            alike[kind.data()[node]].push_back(node);
            if (kind.data()[node] < cluster_kinds) in_clusters += size_of(s, node);
        }
        for (int k = 0; k < node_kinds; ++k) {
            pack_kind(s, alike[static_cast<std::size_t>(k)], k, stretch_of(k, in_clusters, s.packing.resident), packs);
            alike[static_cast<std::size_t>(k)].clear();
        }
    }
    packs.first = Buffer<index_t>(host, offset_t{s.graph.nodes} + 1);
    packs.first.data()[0] = 0;
    for (std::size_t k = 0; k < packs.node.size(); ++k)
        packs.first.data()[k + 1] = packs.first.data()[k] + size_of(s, packs.node[k]);
    return packs;
}

// The rows of a task, and what is known of it before it is written.
struct Pack {
    std::array<index_t, most_rows> row;
    int rows = 0, width = 1, lanes_per_row = 1;
    index_t level = 0;
    bool cluster = false;
};

Pack look_at(const Source& s, const Packs& packs, index_t p)
{
    Pack pack;
    const index_t begin = packs.begin[static_cast<std::size_t>(p)], end = packs.begin[static_cast<std::size_t>(p) + 1],
                  first = packs.first.data()[begin];
    pack.width = packs.width[static_cast<std::size_t>(p)];
    pack.lanes_per_row = s.lanes_of_team() / pack.width;
    pack.rows = packs.first.data()[end] - first;
    pack.level = s.graph.level.data()[packs.node[static_cast<std::size_t>(begin)]];
    pack.cluster = pack.rows > end - begin;
    std::copy_n(s.order.data() + first, pack.rows, pack.row.begin());
    return pack;
}

// The columns a merged node waits for last: those closest below it, the highest levels first. Kept from measuring to
// writing.
struct LateColumns {
    std::array<index_t, lanes * most_team> col;
    int count = 0;
    bool all = true;  // none was left out for want of room

    int find(index_t wanted) const
    {
        const auto* end = col.data() + count;
        const auto* found = std::lower_bound(col.data(), end, wanted);
        return found != end && *found == wanted ? static_cast<int>(found - col.data()) : -1;
    }
};

// Columns of late levels as they are met; most repetitions are left out at once. Sorted once, by column: which of them
// are of the higher level is the last bit, so that those there is room for can be counted off in that order.
class Met {
public:
    Met() { last_.fill(-1); }
    void add(index_t below, index_t col)
    {
        index_t& last = last_[static_cast<std::size_t>(col) % last_.size()];
        if (last == col) return;
        last = col;
        key_[count_++] = (static_cast<std::uint32_t>(col) << 1) | static_cast<std::uint32_t>(below - 1);
    }
    LateColumns latest(int room)
    {
        const auto begin = key_.begin(), end = begin + static_cast<std::ptrdiff_t>(count_);
        std::sort(begin, end);
        const auto unique = std::unique(begin, end);
        const auto higher =
            static_cast<int>(std::count_if(begin, unique, [](std::uint32_t key) { return (key & 1) == 0; }));
        LateColumns late;
        late.all = unique - begin <= room;
        std::array<int, late_levels> left{std::min(room, higher), room - std::min(room, higher)};  // of each level
        for (auto key = begin; key != unique; ++key)
            if (left[*key & 1]-- > 0)
                late.col[static_cast<std::size_t>(late.count++)] = static_cast<index_t>(*key >> 1);
        return late;
    }

private:
    static_assert(late_levels == 2);
    std::array<index_t, 512> last_;                // columns met last, by their number
    std::array<std::uint32_t, most_entries> key_;  // column, and whether it is of the lower level
    std::size_t count_ = 0;
};

// The column of a merged node's matrices that an entry belongs to, or -1: an early one. Of a row alone, 0 for a late
// entry.
index_t column_apart(const Source& s, const Pack& pack, const LateColumns& late, index_t col)
{
    const index_t level = s.level.data()[col];
    if (!pack.cluster) return level == pack.level - 1 ? 0 : -1;
    if (level == pack.level) return s.place.data()[col] - s.place.data()[pack.row.front()];
    const int j = level >= pack.level - late_levels ? late.find(col) : -1;
    return j < 0 ? -1 : pack.width + j;
}

// Late entries of a row alone: none, where they are more than most_late or its lanes in a warp.
int late_entries(const Source& s, const Pack& pack, index_t row)
{
    int late = 0;
    for (offset_t k = s.t.row_begin.data()[row]; k < s.t.row_begin.data()[row + 1]; ++k)
        if (s.level.data()[s.t.col.data()[k]] == pack.level - 1) ++late;
    return pack.lanes_per_row > 1 && late <= std::min(most_late, lanes / pack.width) ? late : 0;
}

// Entries of a row by the level they come from, lowest first; those of very long rows stay as they are.
class ByLevel {
public:
    ByLevel(const Source& s, index_t row)
        : begin_(s.t.row_begin.data()[row]),
          count_(s.t.row_begin.data()[row + 1] - begin_)
    {
        if (count_ > long_row) return;
        const index_t *level = s.level.data(), *col = s.t.col.data() + begin_;
        for (offset_t k = 0; k < count_; ++k)
            insert(k, (static_cast<std::uint64_t>(level[col[k]]) << 32) | static_cast<std::uint64_t>(k));
        if (count_ > short_row) std::sort(key_.begin(), key_.begin() + count_);
    }

    offset_t count() const { return count_; }
    offset_t operator[](offset_t k) const
    {
        return begin_ +
               (count_ > long_row ? k : static_cast<offset_t>(key_[static_cast<std::size_t>(k)] & 0xffff'ffff));
    }

private:
    static constexpr offset_t short_row = 16;  // sorted while they are read

    void insert(offset_t k, std::uint64_t key)
    {
        if (count_ <= short_row)
            for (; k > 0 && key_[static_cast<std::size_t>(k - 1)] > key; --k)
                key_[static_cast<std::size_t>(k)] = key_[static_cast<std::size_t>(k - 1)];
        key_[static_cast<std::size_t>(k)] = key;
    }

    offset_t begin_, count_;
    std::array<std::uint64_t, long_row> key_;  // level, number in the row
};

// The task with sizes where its offsets will be.
struct Measured {
    Task task;
    offset_t dense_entries = 0;
};

// Entries of each row of a merged node that belong to its matrices, and the columns it waits for last: one pass, and a
// second one only where there are more of those columns than room.
LateColumns measure_cluster(const Source& s, const Pack& pack, std::array<offset_t, most_rows>& dense)
{
    Met met;
    const index_t* level = s.level.data();
    for (int i = 0; i < pack.rows; ++i) {
        const index_t row = pack.row[static_cast<std::size_t>(i)];
        offset_t count = 0;
        for (offset_t k = s.t.row_begin.data()[row]; k < s.t.row_begin.data()[row + 1]; ++k) {
            const index_t col = s.t.col.data()[k], below = pack.level - level[col];
            if (below > late_levels) continue;
            ++count;
            if (below > 0) met.add(below, col);
        }
        dense[static_cast<std::size_t>(i)] = count;
    }
    const LateColumns late = met.latest(s.lanes_of_team());
    for (int i = 0; i < pack.rows && !late.all; ++i) {
        const index_t row = pack.row[static_cast<std::size_t>(i)];
        dense[static_cast<std::size_t>(i)] =
            std::count_if(s.t.col.data() + s.t.row_begin.data()[row], s.t.col.data() + s.t.row_begin.data()[row + 1],
                          [&](index_t col) { return column_apart(s, pack, late, col) >= 0; });
    }
    return late;
}

// Counts what write() will find, in any order. `late` is left to it.
Measured measure(const Source& s, const Pack& pack, LateColumns& late)
{
    Measured m{.task = {.step = 0,
                        .dense = 0,
                        .first = 0,
                        .late_first = 0,
                        .steps = 0,
                        .rows = static_cast<std::uint8_t>(pack.rows),
                        .width = static_cast<std::uint8_t>(pack.width),
                        .late = 0,
                        .cluster = pack.cluster}};
    std::array<offset_t, most_rows> apart;  // entries of each row that are not early
    if (pack.cluster) late = measure_cluster(s, pack, apart);
    int most = late.count;
    offset_t longest = 0;
    for (int i = 0; i < pack.rows; ++i) {
        const index_t row = pack.row[static_cast<std::size_t>(i)];
        offset_t& here = apart[static_cast<std::size_t>(i)];
        if (pack.cluster) m.dense_entries += here;
        else most = std::max(most, static_cast<int>(here = late_entries(s, pack, row)));
        longest = std::max(longest, s.t.row_begin.data()[row + 1] - s.t.row_begin.data()[row] - here);
    }
    m.task.late = static_cast<std::uint8_t>(most);
    m.task.steps = static_cast<index_t>(ceil_div(longest, offset_t{pack.lanes_per_row}));
    return m;
}

// Sizes become offsets, and in `sizes` stands how much room all of them need.
void place(const CpuQueue& host, const Buffer<Measured>& measured, Tasks& tasks, TaskSizes& sizes)
{
    const offset_t n = measured.size();
    tasks.task = Buffer<Task>(host, n);
    tasks.dense_first = Buffer<offset_t>(host, n + 1);
    index_t first = 0;
    for (offset_t p = 0; p < n; ++p) {
        const auto& [size, dense_entries] = measured.data()[p];
        Task& task = tasks.task.data()[p] = size;
        task.step = sizes.units;
        task.dense = tasks.dense_size;
        task.first = first;
        task.late_first = sizes.late;
        tasks.dense_first.data()[p] = sizes.dense_entries;
        sizes.units += units_of(size, tasks.team);
        tasks.dense_size += dense_of(size);
        sizes.dense_entries += dense_entries;
        first += size.rows;
        sizes.late += size.cluster ? size.late : 0;
    }
    tasks.dense_first.data()[n] = sizes.dense_entries;
}

void write_row(const Source& s, const Pack& pack, const LateColumns& late, int i, const Task& task,
               offset_t& dense_entry, Tasks& tasks)
{
    const index_t row = pack.row[static_cast<std::size_t>(i)];
    const offset_t* source = s.sources.source.data();
    const auto enter = [&](offset_t at, offset_t k) {
        tasks.col.data()[at] = s.unknown(s.t.col.data()[k]);
        tasks.source.data()[at] = source[k];
    };
    const bool keeps_apart = pack.cluster || late_entries(s, pack, row) > 0;
    const auto column_of = [&](offset_t k) {
        return keeps_apart ? column_apart(s, pack, late, s.t.col.data()[k]) : -1;
    };
    offset_t apart = 0, early = 0;
    for (offset_t k = s.t.row_begin.data()[row]; k < s.t.row_begin.data()[row + 1]; ++k) {
        const index_t column = column_of(k);
        if (column < 0) continue;
        if (pack.cluster) {
            tasks.dense_at.data()[dense_entry] = task.dense + offset_t{column} * task.width + i;
            tasks.dense_source.data()[dense_entry++] = source[k];
        } else {
            enter((task.step + offset_t{task.steps} * tasks.team) * lanes + apart++ * task.width + i, k);
        }
    }
    const ByLevel entries(s, row);
    for (offset_t e = 0; e < entries.count(); ++e) {
        if (column_of(entries[e]) >= 0) continue;
        enter(task.step * lanes + early / pack.lanes_per_row * s.lanes_of_team() +
                  early % pack.lanes_per_row * task.width + i,
              entries[e]);
        ++early;
    }
}

void write(const Source& s, const Pack& pack, const LateColumns& late, const Task& task, offset_t dense_entry,
           Tasks& tasks)
{
    for (int j = 0; j < late.count; ++j)
        tasks.late_col.data()[task.late_first + j] = s.unknown(late.col[static_cast<std::size_t>(j)]);
    std::fill_n(tasks.col.data() + task.step * lanes, units_of(task, tasks.team) * lanes, index_t{-1});
    std::fill_n(tasks.source.data() + task.step * lanes, units_of(task, tasks.team) * lanes, offset_t{-1});
    for (int i = 0; i < pack.rows; ++i) {
        const index_t row = pack.row[static_cast<std::size_t>(i)];
        tasks.row.data()[task.first + i] = s.t.row_of(row);
        if (!tasks.diagonal.empty()) tasks.diagonal.data()[task.first + i] = s.sources.diagonal.data()[row];
        write_row(s, pack, late, i, task, dense_entry, tasks);
    }
}

// Rows numbered in the order of tasks.
void number_rows(const CpuQueue& host, const Packs& packs, Source& s)
{
#pragma omp parallel for num_threads(host.threads) schedule(static)
    for (index_t k = 0; k < s.graph.nodes; ++k) {
        const index_t node = packs.node[static_cast<std::size_t>(k)],
                      *row = s.rows_of.item.data() + s.rows_of.begin.data()[node];
        for (index_t at = packs.first.data()[k]; at < packs.first.data()[k + 1]; ++at, ++row) {
            s.order.data()[at] = *row;
            s.place.data()[*row] = at;
            s.level.data()[*row] = s.graph.level.data()[node];
        }
    }
}

}  // namespace

Tasks make_tasks(const CpuQueue& host, const Pattern& t, const Sources& sources, const Graph& graph,
                 const Packing& packing)
{
    Source s{t,
             sources,
             graph,
             rows_of_nodes(host, graph),
             Buffer<index_t>(host, t.rows),
             Buffer<index_t>(host, t.rows),
             Buffer<index_t>(host, t.rows),
             packing};
    const Packs packs = pack(host, s);
    number_rows(host, packs, s);
    const auto n = static_cast<index_t>(packs.width.size());
    const int room = s.lanes_of_team();
    Buffer<Measured> measured(host, n);
    Buffer<index_t> late_of_task(host, offset_t{n} * room);
#pragma omp parallel for num_threads(host.threads) schedule(dynamic, 64)
    for (index_t p = 0; p < n; ++p) {
        LateColumns late;
        measured.data()[p] = measure(s, look_at(s, packs, p), late);
        std::copy_n(late.col.data(), late.count, late_of_task.data() + offset_t{p} * room);
    }
    Tasks tasks = no_tasks_yet(t, graph.levels, packing);
    TaskSizes sizes;
    place(host, measured, tasks, sizes);
    make_room(host, sizes, !sources.diagonal.empty(), tasks);
#pragma omp parallel for num_threads(host.threads) schedule(dynamic, 64)
    for (index_t p = 0; p < n; ++p) {
        LateColumns late;
        const Task& task = tasks.task.data()[p];
        late.count = task.cluster != 0 ? task.late : 0;
        std::copy_n(late_of_task.data() + offset_t{p} * room, late.count, late.col.data());
        write(s, look_at(s, packs, p), late, task, tasks.dense_first.data()[p], tasks);
    }
    return tasks;
}

}  // namespace tulle::inline TULLE_ABI::sptrsv
