# Makes a folder, and an archive of it, that runs on any x86-64 Linux with glibc 2.36 or later: bin/leat,
# in lib/leat/ the modules that were built, and in lib/ every shared library they need but glibc's own,
# CUDA's and MPI's, which belong to the system, its driver and its launcher: leat_mpi.so takes the libmpi that is there,
# if it is of the kind that it was built with, else --mpi says that it cannot be loaded. Used by the targets bundle and bundle-tests:
#   cmake -D BUILD=build folder -D NAME=leat-... -D PROGRAMS="further files for bin/"
#       -D MODULES="further files for lib/leat/" -P bundle.cmake
set(stage ${BUILD}/bundle/${NAME})
file(REMOVE_RECURSE ${stage})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${stage} --strip
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(COPY ${PROGRAMS} DESTINATION ${stage}/bin)
file(COPY ${MODULES} DESTINATION ${stage}/lib/leat)

file(GLOB programs ${stage}/bin/*)
list(FILTER programs EXCLUDE REGEX "[.]py$")
file(GLOB modules ${stage}/lib/leat/*.so)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} MODULES ${modules}
    RESOLVED_DEPENDENCIES_VAR needed UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|mvec|dl|rt|pthread|resolv|util|anl|nsl)[.]so"
        "^lib(cuda|cudart|cublas|cublasLt|curand|nvrtc|nvJitLink)[.]so" "^lib(mpi|mpich)[.]so")
if(missing)
    message(FATAL_ERROR "The bundle lacks libraries that were not found: ${missing}")
endif()
file(MAKE_DIRECTORY ${stage}/lib)
foreach(library ${needed})
    # Under the name that is asked for; the links behind it are Debian's own affair.
    get_filename_component(name ${library} NAME)
    file(REAL_PATH ${library} real)
    file(COPY_FILE ${real} ${stage}/lib/${name})
endforeach()

execute_process(COMMAND ${CMAKE_COMMAND} -E tar cJf ${BUILD}/${NAME}.tar.xz --format=gnutar ${NAME}
    WORKING_DIRECTORY ${BUILD}/bundle COMMAND_ERROR_IS_FATAL ANY)
file(SIZE ${BUILD}/${NAME}.tar.xz bytes)
math(EXPR mib "(${bytes} + 524288) / 1048576")
message("${BUILD}/${NAME}.tar.xz: ${mib} MiB")
