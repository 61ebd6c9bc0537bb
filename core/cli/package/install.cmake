# What `cmake --install` and the Debian package put where.  Component dev: headers, static libraries and the files by which
# CMake and pkg-config find them.  Component programs: the programs with what they read, found relative to themselves.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(libraries locus_options locus_files locus_core locus_text locus_conformance)
foreach(library ${libraries})
  string(REPLACE locus_ "" short ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${short})
  add_library(locus::${short} ALIAS ${library})
endforeach()
install(TARGETS ${libraries} EXPORT locus-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY core DESTINATION include/locus COMPONENT dev FILES_MATCHING PATTERN "*.h"
  PATTERN core/cli EXCLUDE PATTERN core/python EXCLUDE PATTERN core/conformance/shims EXCLUDE PATTERN core/training EXCLUDE)
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/locus)
install(EXPORT locus-targets NAMESPACE locus:: FILE locusTargets.cmake DESTINATION ${cmake_folder} COMPONENT dev)
configure_package_config_file(core/cli/package/locusConfig.cmake.in locusConfig.cmake INSTALL_DESTINATION ${cmake_folder}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(locusConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/locusConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/locusConfigVersion.cmake
  DESTINATION ${cmake_folder} COMPONENT dev)
# Who includes Eigen by other instructions lays its matrices out otherwise, so they belong to the interface.
set(LOCUS_INTERFACE_FLAGS "-ffp-contract=off")
if(LOCUS_ARCH)
  string(APPEND LOCUS_INTERFACE_FLAGS " -march=${LOCUS_ARCH}")
endif()
file(RELATIVE_PATH LOCUS_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # the libraries are static: what they need is named, too
configure_file(core/cli/package/locus.pc.in locus.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/locus.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# The programs stand in a folder of their own and look for ../../share/locus; `locus` starts them.
set(programs locus-view locus-trace locus-check locus-kit locus-fill locus-classify locus-train locus-tokens locus-rope locus-text)
install(TARGETS ${programs} RUNTIME DESTINATION lib/locus COMPONENT programs)
install(PROGRAMS core/cli/package/locus DESTINATION bin COMPONENT programs)
install(DIRECTORY assets/models assets/corpus DESTINATION share/locus/assets COMPONENT programs)
install(FILES assets/mistakes.json DESTINATION share/locus/assets COMPONENT programs)
install_kit_source(share/locus/assets/source programs)
install(FILES core/cli/package/locus.desktop DESTINATION share/applications COMPONENT programs)
install(FILES core/cli/package/locus.svg DESTINATION share/icons/hicolor/scalable/apps COMPONENT programs)
install(FILES LICENSE DESTINATION share/doc/locus RENAME copyright COMPONENT programs)
# Manual pages and completions, made of what the programs say of their options.
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/man1 DESTINATION share/man COMPONENT programs OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/manual/changelog.gz DESTINATION share/doc/locus COMPONENT programs OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/manual/locus.bash DESTINATION share/bash-completion/completions RENAME locus
  COMPONENT programs OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/manual/_locus DESTINATION share/zsh/vendor-completions COMPONENT programs OPTIONAL)
install(FILES ${CMAKE_BINARY_DIR}/manual/locus.fish DESTINATION share/fish/vendor_completions.d COMPONENT programs OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME locus)
set(CPACK_PACKAGE_CONTACT "The Locus authors <authors@locus.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};locus;programs;/")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "fonts-inter, fonts-jetbrains-mono")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-noto-cjk, xvfb, xauth")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "every term of position-aware attention, computed and drawn
 A reference implementation of DeBERTa, RoFormer, Transformer-XL and XLNet:
 every term of a score by itself, drawn in a window, written as traces, and
 compared with those of another implementation, whose mistake it names.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
