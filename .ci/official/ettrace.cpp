// Runs a method with the official C++ runtime and writes what its event tracer records: an ETDump and, if asked for, the debug
// buffer with everything that instructions wrote.
//
//   ettrace PROGRAM SEED RUNS TRACE.etdp [DEBUG.bin [METHOD]]
//
// Inputs are floats between -1 and 1 and small integers, which depend on SEED, on the position of the input and on the element
// only: each run has the same, and so have other programs with the same inputs. The debug buffer is cut after the last byte used.

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <vector>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::etdump::BufferDataSink;
using executorch::etdump::ETDumpGen;
using executorch::extension::FileDataLoader;
using executorch::extension::MallocMemoryAllocator;
using namespace executorch::runtime;

/// The most bytes that a debug buffer can have.
static const size_t BUFFER = 1 << 26;

template <typename T>
static T take(Result<T>&& result, const char* what) {
  if (!result.ok()) {
    fprintf(stderr, "%s: error 0x%02x\n", what, unsigned(result.error()));
    exit(1);
  }
  return std::move(result.get());
}

static void check(Error error, const char* what) {
  if (error != Error::Ok) {
    fprintf(stderr, "%s: error 0x%02x\n", what, unsigned(error));
    exit(1);
  }
}

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// An input: all that a TensorImpl points to outlives the runs.
struct Input {
  std::vector<TensorImpl::SizesType> sizes;
  std::vector<TensorImpl::DimOrderType> order;
  std::vector<TensorImpl::StridesType> strides;
  std::vector<uint8_t> data;

  Input(const TensorInfo& info, uint64_t seed) {
    sizes.assign(info.sizes().begin(), info.sizes().end());
    order.assign(info.dim_order().begin(), info.dim_order().end());
    strides.resize(sizes.size());
    if (!sizes.empty())
      dim_order_to_stride_nocheck(sizes.data(), order.data(), sizes.size(), strides.data());
    data.resize(info.nbytes());
    size_t element = elementSize(info.scalar_type());
    for (size_t i = 0; i < data.size() / element; i++) {
      uint64_t random = mix(mix(seed) ^ i);
      float value = float(random >> 40) / float(1 << 23) - 1;
      uint64_t integer = info.scalar_type() == ScalarType::Bool ? random & 1 : random % 5;
      if (info.scalar_type() == ScalarType::Float)
        memcpy(&data[i * element], &value, sizeof value);
      else
        memcpy(&data[i * element], &integer, element < 8 ? element : 8);
    }
  }
};

static void save(const char* path, const void* bytes, size_t size) {
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc < 5 || argc > 7) {
    fprintf(stderr, "usage: ettrace PROGRAM SEED RUNS TRACE.etdp [DEBUG.bin [METHOD]]\n");
    return 2;
  }
  runtime_init();
  uint64_t seed = strtoull(argv[2], nullptr, 10);
  int runs = atoi(argv[3]);
  auto loader = take(FileDataLoader::from(argv[1]), argv[1]);
  auto program = take(Program::load(&loader), "load");
  const char* name = argc > 6 ? argv[6] : take(program.get_method_name(0), "method");
  auto meta = take(program.method_meta(name), name);

  std::vector<std::vector<uint8_t>> arenas;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); i++)
    arenas.emplace_back(size_t(meta.memory_planned_buffer_size(i).get()));
  for (auto& arena : arenas)
    spans.push_back({arena.data(), arena.size()});
  HierarchicalAllocator planned({spans.data(), spans.size()});
  MallocMemoryAllocator method_allocator, temp_allocator;
  MemoryManager memory(&method_allocator, &planned, &temp_allocator);

  ETDumpGen tracer;
  std::vector<uint8_t> buffer(argc > 5 ? BUFFER : 0);
  BufferDataSink sink = take(BufferDataSink::create(buffer.data(), buffer.size()), "debug buffer");
  if (argc > 5) {
    tracer.set_data_sink(&sink);
    tracer.set_event_tracer_debug_level(EventTracerDebugLogLevel::kIntermediateOutputs);
  }
  auto method = take(program.load_method(name, &memory, &tracer), name);
  std::list<Input> inputs;
  std::list<TensorImpl> tensors;
  for (int run = 0; run < runs; run++) {
    for (size_t i = 0; i < meta.num_inputs(); i++) {
      auto info = meta.input_tensor_meta(i);
      if (!info.ok())
        continue;
      Input& input = inputs.emplace_back(*info, mix(seed) ^ i);
      tensors.emplace_back(info->scalar_type(), ssize_t(input.sizes.size()), input.sizes.data(), input.data.data(),
                           input.order.data(), input.strides.data());
      check(method.set_input(EValue(Tensor(&tensors.back())), i), "set_input");
    }
    check(method.execute(), "execute");
  }
  auto dump = tracer.get_etdump_data();
  save(argv[4], dump.buf, dump.size);
  free(dump.buf);
  if (argc > 5)
    save(argv[5], buffer.data(), sink.get_used_bytes());
  return 0;
}
