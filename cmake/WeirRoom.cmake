# weir_room(<name> SOURCES <file>... [ROOMS <room>...] [LIBRARIES <target>...])
#
# Declares the room of this directory as the object library weir_<name>. ROOMS are the rooms it may
# include from; scripts/check-rooms proves that the includes follow them. Objects, not archives: a
# compressor registers itself from a static initialiser, which an archive would drop. All objects
# meet in libweir (WeirLibrary.cmake).
function(weir_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_library(weir_${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(weir_${name} PUBLIC weir_options ${ARG_LIBRARIES})
  foreach(room IN LISTS ARG_ROOMS)
    target_link_libraries(weir_${name} PUBLIC weir_${room})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY WEIR_ROOMS weir_${name})
  set_property(GLOBAL APPEND PROPERTY WEIR_ROOM_LIBRARIES ${ARG_LIBRARIES})
endfunction()
