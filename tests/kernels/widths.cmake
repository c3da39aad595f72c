# Fails unless an object is made of the vectors of its target: xmm alone for scalar, ymm and no zmm
# for avx2, mostly zmm for avx512. Flags that got lost, or a compiler that prefers narrower ones, show here.
execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${OBJECT} OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "%[xyz]mm" registers "${code}")
foreach(width x y z)
    set(found ${registers})
    list(FILTER found INCLUDE REGEX "%${width}mm")
    list(LENGTH found ${width}mm)
endforeach()
message(STATUS "${NAME}: ${xmm} xmm, ${ymm} ymm, ${zmm} zmm")
if((NAME STREQUAL scalar AND (ymm GREATER 0 OR zmm GREATER 0 OR xmm LESS 1000)) OR
        (NAME STREQUAL avx2 AND (zmm GREATER 0 OR ymm LESS 2000 OR ymm LESS xmm)) OR
        (NAME STREQUAL avx512 AND (zmm LESS 2000 OR zmm LESS ymm OR zmm LESS xmm)))
    message(FATAL_ERROR "${OBJECT} does not have the vectors of ${NAME}")
endif()
