# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCOMPILER=... -DFLAGS=... -P package_test.cmake
#
# Installs the build into a temporary folder, then configures, builds and runs a program outside the
# tree against find_package(weir).

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed with ${code}: ${command}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)

# An installed package must not point back into the tree that built it.
file(GLOB_RECURSE package_files ${WORK}/prefix/*.cmake)
foreach(file IN LISTS package_files)
  file(READ ${file} text)
  foreach(directory IN ITEMS ${BUILD} ${SOURCE})
    string(FIND "${text}" "${directory}/" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names ${directory}")
    endif()
  endforeach()
endforeach()

# Moved after the installation: nothing in it may depend on where it was installed to.
file(RENAME ${WORK}/prefix ${WORK}/moved)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G Ninja
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
    -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/build)

# run_program(<ranks> <command>...): every rank must reach the end, with the weights near 1.
function(run_program ranks)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output)
  message(STATUS "${output}")
  string(REGEX MATCHALL "of ${ranks}: weight.0. = (0.9|1.0)" ends "${output}")
  list(LENGTH ends count)
  if(NOT code EQUAL 0 OR NOT count EQUAL ranks)
    message(FATAL_ERROR "${ranks} ranks: exit code ${code}, ${count} ranks came to the right end")
  endif()
endfunction()
run_program(1 ${WORK}/build/program)
run_program(2 ${WORK}/moved/bin/weirrun -np 2 ${WORK}/build/program)

# The example in C, as a project of its own: dense and compressed, it must learn.
run(${CMAKE_COMMAND} -S ${SOURCE}/examples/08-c -B ${WORK}/c -G Ninja -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_C_FLAGS=${FLAGS}
    -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/c)
function(run_bigrams)
  execute_process(COMMAND ${WORK}/moved/bin/weirrun -np 2 ${WORK}/c/c-bigrams
                          ${SOURCE}/examples/data/tinyshakespeare.txt 300 ${ARGN}
                  RESULT_VARIABLE code OUTPUT_VARIABLE output)
  message(STATUS "${output}")
  if(NOT code EQUAL 0 OR NOT output MATCHES "step 300: 3\\.[0-9]+ bits a byte")
    message(FATAL_ERROR "c-bigrams ${ARGN}: exit code ${code}, or it has not learned")
  endif()
endfunction()
run_bigrams()
run_bigrams(compressor=dgc density=0.01)
file(REMOVE_RECURSE ${WORK})
