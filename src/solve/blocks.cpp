// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/blocks.hpp"

#include <algorithm>
#include <exception>
#include <type_traits>

#include "base/plural.hpp"
#include "tulle/text.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

constexpr int launches_before_capture = 2;  // a solve that ends within its first block never captures
constexpr std::size_t most_blocks = 32;     // that are kept apart: restarts of gmres with looks at every iteration

void iterate(BlockBody& body, offset_t count)
{
    for (offset_t k = 0; k < count; ++k) body.iterate();
}

// f(queue) for the queue of a GPU.
template <class F>
void on_gpu(const Context& ctx, F&& f)
{
    ctx.run([&](const auto& q) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(q)>, CudaQueue>) f(q);
    });
}

}  // namespace

void BlockGraphs::run(const Context& ctx, BlockBody& body, offset_t count)
{
    Block* const block = find(body.place(), count);
    if (block && replay(ctx, *block, body)) return;
    iterate(body, count);
    if (block && ++block->launched == launches_before_capture) capture(ctx, *block, body);
}

// Null where the block is to be launched kernel by kernel.
BlockGraphs::Block* BlockGraphs::find(int place, offset_t count)
{
    if (!wanted_ || waits_ || place < 0 || !why_not_.empty()) return nullptr;
    const auto at = std::ranges::find_if(blocks_, [&](const Block& b) { return b.place == place && b.count == count; });
    if (at != blocks_.end()) return &*at;
    if (blocks_.size() == most_blocks) return nullptr;
    return &blocks_.emplace_back(Block{.place = place, .count = count});
}

bool BlockGraphs::replay(const Context& ctx, const Block& block, BlockBody& body)
{
    if (block.graph.empty()) return false;
    try {
        on_gpu(ctx, [&](const auto& q) { block.graph.launch(q); });
    } catch (const std::exception& e) {
        why_not_ = e.what();
        return false;
    }
    body.set_place(block.after);
    return true;
}

// After the block was launched: the GPU works on it meanwhile.
void BlockGraphs::capture(const Context& ctx, Block& block, BlockBody& body)
{
    block.after = body.place();
    body.set_place(block.place);
    try {
        on_gpu(ctx, [&](const auto& q) { block.graph = cuda::Graph(q, [&] { iterate(body, block.count); }); });
    } catch (const std::exception& e) {
        why_not_ = e.what();
    }
    body.set_place(block.after);
}

void BlockGraphs::forget()
{
    blocks_.clear();
    why_not_.clear();
}

std::string BlockGraphs::describe(const BlockBody& body) const
{
    if (!wanted_) return "launched kernel by kernel, as the recipe says";
    if (waits_) return "launched kernel by kernel: the inner solver waits in every iteration";
    if (body.place() < 0) return "launched kernel by kernel: numbers of the host change from one iteration to the next";
    if (!why_not_.empty()) return concat("launched kernel by kernel: ", why_not_);
    std::string all;
    for (const Block& b : blocks_)
        if (!b.graph.empty())
            all += concat(all.empty() ? "replayed as CUDA graphs: " : ", ", b.count,
                          plural(b.count, " iteration", " iterations"), " with ", b.graph.nodes(),
                          plural(static_cast<offset_t>(b.graph.nodes()), " kernel or copy", " kernels and copies"));
    return all.empty() ? "CUDA graphs, captured when a block is put on the queue for the second time" : all;
}

}  // namespace tulle::inline TULLE_ABI::solve
