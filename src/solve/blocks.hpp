// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Blocks of iterations, put on the queue between two looks of the host. On a GPU a block that has been launched kernel
// by kernel twice is captured as a CUDA graph, while the GPU is busy with it, and replayed from then on: the same
// kernels in the same order, so the same bits.
#pragma once

#include <string>
#include <vector>

#include "device/graph.hpp"
#include "tulle/context.hpp"

namespace tulle::inline TULLE_ABI::solve {

// What blocks consist of.
class BlockBody {
public:
    BlockBody() = default;
    BlockBody(const BlockBody&) = delete;
    BlockBody& operator=(const BlockBody&) = delete;
    virtual ~BlockBody() = default;

    // Puts one iteration on the queue; without effect after a halt.
    virtual void iterate() = 0;
    // What of the host decides the next iterations: from the same place on, the same kernels follow with the same
    // arguments. Below 0: they differ every time, or wait.
    virtual int place() const { return -1; }
    // Goes to a place where it has been, also after an iteration that threw.
    virtual void set_place(int) {}
};

class BlockGraphs {
public:
    BlockGraphs() = default;
    // wanted: by the recipe. waits: iterations do.
    BlockGraphs(bool wanted, bool waits) : wanted_(wanted), waits_(waits) {}

    // Puts so many iterations on the queue.
    void run(const Context& ctx, BlockBody& body, offset_t count);
    // The arguments of kernels have changed.
    void forget();
    // How blocks are put on the queue, and why so.
    std::string describe(const BlockBody& body) const;

private:
    struct Block {
        int place = 0;
        offset_t count = 0;
        int launched = 0;  // times, kernel by kernel
        int after = 0;     // the place behind it
        cuda::Graph graph = {};
    };
    Block* find(int place, offset_t count);
    bool replay(const Context& ctx, const Block& block, BlockBody& body);
    void capture(const Context& ctx, Block& block, BlockBody& body);

    bool wanted_ = false, waits_ = false;
    std::vector<Block> blocks_;
    std::string why_not_;
};

}  // namespace tulle::inline TULLE_ABI::solve
