# The CUDA option: nvcc where it usually is, code for Ampere and Hopper and PTX for what comes later.
if(NOT CMAKE_CUDA_COMPILER)
    find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
endif()
if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "GRADZ_CUDA=ON needs nvcc, which is neither on the path nor in /usr/local/cuda: "
        "name it by -DCMAKE_CUDA_COMPILER=..., or build with GRADZ_CUDA=OFF")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
enable_language(CUDA)
