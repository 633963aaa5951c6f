# Debian packages, by cpack: leat, and one for each module that was built. For a Debian 12, from the preset deb, whose
# prefix is /usr:  cmake --preset deb && cmake --build --preset deb && cpack --config build/deb/CPackConfig.cmake -B build/deb
# The scripts beside this file are what debhelper would write for the unit, its user and its folders; the service is
# neither enabled nor started: most people have leat for its command.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL leat)
set(CPACK_SET_DESTDIR ON) # a prefix of /usr has its configuration in /etc
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VENDOR leat)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The leat authors <leat@localhost>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_LEAT_PACKAGE_NAME leat)
set(CPACK_DEBIAN_LEAT_PACKAGE_SECTION science)
set(CPACK_COMPONENT_LEAT_DESCRIPTION "correlations, landslides, interpolation and clusters from files
 A command on files, folders and archives, and a service that watches a folder.
 Computes on all cores of a CPU, or with leat-cuda on NVIDIA's GPUs, in memory
 that is bounded.")
set(CPACK_DEBIAN_LEAT_PACKAGE_SHLIBDEPS ON)
if(SYSTEMD_FOUND)
    include(GNUInstallDirs)
    # as debhelper has it for sysusers.d and tmpfiles.d
    set(CPACK_DEBIAN_LEAT_PACKAGE_DEPENDS
        "systemd | systemd-standalone-sysusers | systemd-sysusers, systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
    file(WRITE ${CMAKE_BINARY_DIR}/debian/conffiles "${CMAKE_INSTALL_FULL_SYSCONFDIR}/leat/leat.conf\n")
    set(CPACK_DEBIAN_LEAT_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/conffiles
        ${CMAKE_CURRENT_LIST_DIR}/postinst ${CMAKE_CURRENT_LIST_DIR}/prerm ${CMAKE_CURRENT_LIST_DIR}/postrm)
endif()

# The library for programs, and what compiling them takes.
list(APPEND CPACK_COMPONENTS_ALL library development)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libleat${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "leat (= ${PROJECT_VERSION})") # the module for products
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS leat-cuda)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "correlations, clusters, polynomials and landslides on CPUs and NVIDIA's GPUs
 What leat computes, for programs: arrays in memory, without files.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libleat-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libleat${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "header and pkg-config file of libleat
 leat.h says what each function takes and gives.")

list(APPEND CPACK_COMPONENTS_ALL python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-leat)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, libleat${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-numpy)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "correlations, clusters, polynomials and landslides for Python 3
 libleat on arrays of NumPy, CuPy and PyTorch, and the command's results as arrays.")

if(TARGET leat_cuda AND NOT LEAT_CUDA STREQUAL "CHECK")
    list(APPEND CPACK_COMPONENTS_ALL cuda)
    set(CPACK_DEBIAN_CUDA_PACKAGE_NAME leat-cuda)
    set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION science)
    set(CPACK_COMPONENT_CUDA_DESCRIPTION "leat's module for NVIDIA's GPUs
 For compute capability 8.0 or later. leat finds out whether it works: leat doctor.")
    # CUDA's libraries are in NVIDIA's archive, not in Debian's: without them leat computes on the CPU, and says why.
    string(REGEX REPLACE "^([0-9]+)[.]([0-9]+).*" "\\1-\\2" release "${CMAKE_CUDA_COMPILER_VERSION}")
    set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "leat (= ${PROJECT_VERSION}), libc6, libstdc++6")
    set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS "libcublas-${release}, libcuda1")
endif()
if(TARGET leat_mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_NAME leat-mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
    set(CPACK_COMPONENT_MPI_DESCRIPTION "leat's module for MPI
 Lets processes that mpirun or srun has started share their inputs: leat run --mpi.")
    set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "leat (= ${PROJECT_VERSION})")
endif()
# What reads files of other programs.
set(reads_gdal "grids in any format of GDAL: NetCDF, HDF5, JPEG 2000, VRT, Imagine and many more; polygons as grids")
set(reads_hdf5 "HDF5, NetCDF-4 and MATLAB's files since 7.3")
set(reads_xlsx "sheets of Excel and OpenDocument: .xlsx, .xlsm and .ods")
foreach(format gdal hdf5 xlsx)
    if(TARGET leat_${format})
        string(TOUPPER ${format} FORMAT)
        list(APPEND CPACK_COMPONENTS_ALL ${format})
        set(CPACK_DEBIAN_${FORMAT}_PACKAGE_NAME leat-${format})
        set(CPACK_DEBIAN_${FORMAT}_PACKAGE_SECTION science)
        set(CPACK_COMPONENT_${FORMAT}_DESCRIPTION "leat's module for files of other programs
 Reads ${reads_${format}}.")
        set(CPACK_DEBIAN_${FORMAT}_PACKAGE_SHLIBDEPS ON)
        set(CPACK_DEBIAN_${FORMAT}_PACKAGE_DEPENDS "leat (= ${PROJECT_VERSION})")
        if(format STREQUAL gdal AND TARGET leat_hdf5) # which tells what a file of HDF5 names
            string(APPEND CPACK_DEBIAN_GDAL_PACKAGE_DEPENDS ", leat-hdf5 (= ${PROJECT_VERSION})")
        endif()
    endif()
endforeach()
include(CPack)
