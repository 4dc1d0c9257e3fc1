// A read past the end on purpose: the test that runs it passes when AddressSanitizer
// reports it.

#include <cstdio>
#include <vector>

int main(int argc, char**) {
  const std::vector<int> three(3, 7);
  const volatile int* data = three.data();
  std::printf("%d\n", data[argc + 2]);
}
