// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "model/perceptron.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/lines.hpp"

namespace tulle::inline TULLE_ABI::model {

std::vector<double> products(std::span<const double> x)
{
    std::vector<double> all{1.0};
    all.reserve(count_products(x.size()));
    all.insert(all.end(), x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = i; j < x.size(); ++j) all.push_back(x[i] * x[j]);
    return all;
}

struct PerceptronReader {
    Lines lines;
    Perceptron p = {};

    static constexpr std::size_t most_features = 64, most_width = 4096, most_layers = 8;

    void feature()
    {
        if (lines.words().size() != 2 && !(lines.words().size() == 3 && lines.word(2) == "log"))
            lines.fail("'feature NAME' or 'feature NAME log' belongs here");
        if (std::find(p.features_.begin(), p.features_.end(), lines.word(1)) != p.features_.end())
            lines.fail(concat("feature '", lines.word(1), "' twice"));
        if (p.features_.size() == most_features) lines.fail(concat("more than ", most_features, " features"));
        p.features_.emplace_back(lines.word(1));
        p.log_.push_back(lines.words().size() == 3);
    }

    void output()
    {
        lines.word(1);
        if (std::find(p.outputs_.begin(), p.outputs_.end(), lines.after_first()) != p.outputs_.end())
            lines.fail(concat("output '", lines.after_first(), "' twice"));
        if (p.outputs_.size() == most_width) lines.fail(concat("more than ", most_width, " outputs"));
        p.outputs_.emplace_back(lines.after_first());
    }

    // Numbers from the word `first` to the end of the line.
    void numbers(std::size_t first, std::size_t count, std::vector<double>& to)
    {
        lines.expect(first + count);
        for (std::size_t k = 0; k < count; ++k) to.push_back(lines.number<double>(first + k));
    }

    void standard(std::string_view what, std::vector<double>& to)
    {
        if (!lines.next() || lines.word(0) != what) lines.fail(concat("a line '", what, " …' belongs here"));
        numbers(1, count_products(p.features_.size()), to);
    }

    void layer(std::size_t inputs)
    {
        lines.expect(3);
        Perceptron::Layer layer{.outputs = lines.number<std::size_t>(1), .inputs = lines.number<std::size_t>(2)};
        if (layer.inputs != inputs)
            lines.fail(concat("a layer of ", layer.inputs, " inputs after ", inputs, " outputs"));
        if (layer.outputs < 1 || layer.outputs > most_width)
            lines.fail(concat("a layer of ", layer.outputs, " outputs"));
        for (std::size_t k = 0; k < layer.outputs; ++k) {
            if (!lines.next()) lines.fail(concat("the weights of output ", k, " are missing"));
            numbers(0, inputs + 1, layer.weight);
        }
        p.layers_.push_back(std::move(layer));
    }

    void names()
    {
        while (lines.next() && lines.word(0) == "feature") feature();
        if (p.features_.empty()) lines.fail("a line 'feature …' belongs here");
        for (bool more = !lines.words().empty(); more && lines.word(0) == "output"; more = lines.next()) output();
        if (p.outputs_.empty()) lines.fail("a line 'output …' belongs here");
    }

    Perceptron read()
    {
        if (!lines.next() || lines.words() != std::vector<std::string_view>{"tulle", "perceptron", "1"})
            lines.fail("not a perceptron: the first line must be 'tulle perceptron 1'");
        names();
        if (lines.words().empty() || lines.word(0) != "mean") lines.fail("a line 'mean …' belongs here");
        numbers(1, count_products(p.features_.size()), p.mean_);
        standard("scale", p.scale_);
        std::size_t width = count_products(p.features_.size());
        while (lines.next()) {
            if (lines.word(0) != "layer") lines.fail("a line 'layer OUTPUTS INPUTS' belongs here");
            if (p.layers_.size() == most_layers) lines.fail(concat("more than ", most_layers, " layers"));
            layer(width);
            width = p.layers_.back().outputs;
        }
        if (p.layers_.empty() || width != p.outputs_.size())
            lines.fail(concat("the last layer has ", p.layers_.empty() ? 0 : width, " outputs instead of ",
                              p.outputs_.size()));
        return std::move(p);
    }
};

Perceptron Perceptron::parse(std::string_view text, std::string_view name)
{
    return PerceptronReader{.lines = Lines(text, name)}.read();
}

Perceptron Perceptron::load(const std::string& path) { return parse(read_text(path), path); }

std::vector<double> Perceptron::judge(std::span<const double> features) const
{
    require(features.size() == features_.size(),
            [&] { return concat("the perceptron asks for ", features_.size(), " features, not ", features.size()); });
    std::vector<double> x(features.begin(), features.end());
    for (std::size_t k = 0; k < x.size(); ++k)
        if (log_[k]) x[k] = std::log1p(x[k]);
    x = products(x);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = (x[k] - mean_[k]) * scale_[k];
    for (const Layer& layer : layers_) {
        std::vector<double> y(layer.outputs);
        for (std::size_t i = 0; i < layer.outputs; ++i) {
            const double* weight = layer.weight.data() + i * (layer.inputs + 1);
            y[i] = weight[0];
            for (std::size_t k = 0; k < layer.inputs; ++k) y[i] += weight[k + 1] * x[k];
        }
        if (&layer != &layers_.back())
            for (double& value : y) value = std::max(value, 0.0);
        x = std::move(y);
    }
    for (double& value : x) value = 1 / (1 + std::exp(-value));
    return x;
}

std::size_t Perceptron::choose(std::span<const double> features) const
{
    const std::vector<double> judged = judge(features);
    return static_cast<std::size_t>(std::max_element(judged.begin(), judged.end()) - judged.begin());
}

}  // namespace tulle::inline TULLE_ABI::model
