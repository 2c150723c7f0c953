// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// A multilayer perceptron that judges every scheme of a list: features in, for each scheme a number between 0 and 1 out
// (AG-SpTRSV, section 4.5). Features become all products of up to two of them, each product is standardised, then come
// layers of weights with ReLU between them and a sigmoid at the end. Learned by tools/train from measured runs, kept as
// text in data/models/:
//
//     tulle perceptron 1
//     feature rows log                   log: ln(1 + x) is taken first
//     feature nearness
//     output tasks, rows alone           the rest of the line
//     mean 1 0.5 …                       of each product, as many as products(features)
//     scale 1 0.25 …                     1 / standard deviation
//     layer 32 6                         outputs, inputs; then a line for each output: bias, weights
//     0.1 …
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"

namespace tulle::inline TULLE_ABI::model {

// 1, every x_i, every x_i x_j with i <= j: 66 of ten.
TULLE_API std::vector<double> products(std::span<const double> x);
constexpr std::size_t count_products(std::size_t features) { return 1 + features + features * (features + 1) / 2; }

class TULLE_API Perceptron {
public:
    // FormatError names the file (`name`) and the line.
    static Perceptron parse(std::string_view text, std::string_view name);
    static Perceptron load(const std::string& path);  // from a file, for experiments

    // A number in [0, 1] for each output. ShapeError unless there are as many numbers as features().
    std::vector<double> judge(std::span<const double> features) const;
    std::size_t choose(std::span<const double> features) const;  // the output with the largest, the first of equal ones

    const std::vector<std::string>& features() const { return features_; }
    const std::vector<std::string>& outputs() const { return outputs_; }

private:
    struct Layer {
        std::size_t outputs = 0, inputs = 0;
        std::vector<double> weight = {};  // of each output: bias, then one for each input
    };
    std::vector<std::string> features_, outputs_;
    std::vector<bool> log_;
    std::vector<double> mean_, scale_;
    std::vector<Layer> layers_;

    friend struct PerceptronReader;
};

}  // namespace tulle::inline TULLE_ABI::model
