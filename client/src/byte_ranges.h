// A set of bytes of a buffer, as ranges.

#ifndef WINNOW_CLIENT_SRC_BYTE_RANGES_H_
#define WINNOW_CLIENT_SRC_BYTE_RANGES_H_

#include <cstdint>
#include <map>

namespace winnow::client {

// The bytes of a matrix in a buffer: `rows` pieces of `row_bytes`, `stride_bytes` apart.
struct StridedBytes {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t stride_bytes = 0;
};

// Thread safety: as a standard container. Ranges that are empty, negative or past 63 bits hold no
// byte: whoever sends them is told so by the server.
class ByteRanges {
 public:
  bool empty() const { return ranges_.empty(); }
  // [begin, end).
  void Add(int64_t begin, int64_t end);
  void Remove(int64_t begin, int64_t end);
  void Remove(const StridedBytes& bytes);
  bool Intersects(int64_t begin, int64_t end) const;
  bool Intersects(const StridedBytes& bytes) const;
  void Clear() { ranges_.clear(); }

 private:
  std::map<int64_t, int64_t> ranges_;  // begin to end; neither touching nor overlapping
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_BYTE_RANGES_H_
