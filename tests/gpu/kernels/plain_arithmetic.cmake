# cmake -DFILES=a.ptx;b.ptx -P plain_arithmetic.cmake
#
# Every operation on floats rounds once and keeps subnormals, as on the CPU: no PTX instruction that
# multiplies and adds in one, and none that flushes to zero. And nothing that nvcc could not compile.
set(additions 0)
foreach(file IN LISTS FILES)
  file(STRINGS ${file} found REGEX "fma\\.|mad\\.[a-z.]*f(16|32|64)|\\.ftz")
  if(found)
    list(GET found 0 first)
    message(FATAL_ERROR "${file} fuses or flushes: ${first}")
  endif()
  # Where a kernel refers to what there is on the host alone, nvcc writes a trap and says nothing.
  file(STRINGS ${file} traps REGEX "trap;")
  if(traps)
    message(FATAL_ERROR "${file} has a trap: a kernel takes a reference to a constant of the host")
  endif()
  file(STRINGS ${file} added REGEX "add\\.rn\\.f32")
  list(LENGTH added count)
  math(EXPR additions "${additions} + ${count}")
endforeach()
if(additions EQUAL 0)
  message(FATAL_ERROR "there is no addition in ${FILES}: were they compiled to PTX?")
endif()
message(STATUS "${additions} additions, none fused")
