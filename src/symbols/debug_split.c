/*
 * debug_split.c: the functions of a split unit, which are in another file: a .dwo or a .dwp.
 *
 * libdw finds .dwo files itself, by the name in the unit's skeleton. It knows nothing of packages, but
 * looks at that name only when it is asked for the unit. So for a unit that a package has, the name is
 * changed before that, in the image of the debug info (which is ours to write to), into that of a
 * file in memory, and libdw links the two as it always does.
 */
#include "symbols/debug_reader.h"
#include "profile/varint.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The index that a form of strx holds. */
static bool read_index(const struct debug_image *image, const Dwarf_Attribute *attribute,
                       unsigned form, uint64_t *index)
{
    const uint8_t *at = attribute->valp, *end = (const uint8_t *)image->bytes + image->size_bytes;
    size_t size_bytes = form == DW_FORM_strx1   ? 1
                        : form == DW_FORM_strx2 ? 2
                        : form == DW_FORM_strx3 ? 3
                        : form == DW_FORM_strx4 ? 4
                                                : 0;
    bool failed = false;

    *index = 0;
    if (form == DW_FORM_strx) {
        *index = varint_read(&at, end, &failed);
        return !failed;
    }
    if (size_bytes == 0 || size_bytes > (size_t)(end - at))
        return false;
    memcpy(index, at, size_bytes);
    return true;
}

/* Where the image says where in .debug_str the name of a skeleton's file is; NULL where that cannot
 * be changed. */
static uint8_t *find_name(struct debug_reader *reader, uint8_t offset_bytes)
{
    Dwarf_Die *die = &reader->unit_die;
    Dwarf_Attribute name, base;
    Dwarf_Word start = 0;
    uint64_t index;

    if (!dwarf_attr(die, DW_AT_dwo_name, &name) && !dwarf_attr(die, DW_AT_GNU_dwo_name, &name))
        return NULL;
    unsigned form = dwarf_whatform(&name);
    if (form == DW_FORM_strp)
        return name.valp;
    Elf_Data *offsets = elf_file_section(reader->image.elf, ".debug_str_offsets");
    if (!offsets || !read_index(&reader->image, &name, form, &index) ||
        dwarf_formudata(dwarf_attr(die, DW_AT_str_offsets_base, &base), &start) != 0 ||
        start > offsets->d_size || index >= (offsets->d_size - start) / offset_bytes)
        return NULL;
    return (uint8_t *)offsets->d_buf + start + index * offset_bytes;
}

/* Makes libdw take a unit's functions from the package. What it opens is given back, to be closed
 * when it has; -1 when the package does not have them. */
static int redirect(struct debug_reader *reader, Dwarf_CU *unit)
{
    const struct debug_image *image = &reader->image;
    uint64_t unit_id = 0;
    uint8_t offset_bytes = 0;
    Dwarf_Die die;

    if (!image->spare || !dwarf_cu_die(unit, &die, NULL, NULL, NULL, &offset_bytes, NULL, NULL) ||
        dwarf_cu_info(unit, NULL, NULL, NULL, NULL, &unit_id, NULL, NULL) != 0)
        return -1;
    uint8_t *place = find_name(reader, offset_bytes);
    const uint8_t *end = (const uint8_t *)image->bytes + image->size_bytes;
    if (!place || place < (uint8_t *)image->bytes || place >= end ||
        offset_bytes > (size_t)(end - place))
        return -1;
    int descriptor = split_package_extract(&reader->package, unit_id);
    if (descriptor < 0)
        return -1;
    snprintf(image->spare, DEBUG_IMAGE_SPARE_BYTES, "/proc/self/fd/%d", descriptor);
    memcpy(place, &image->spare_offset, offset_bytes); /* little-endian, as the file is */
    return descriptor;
}

bool debug_open_split(struct debug_reader *reader, Dwarf_CU *unit)
{
    int descriptor = redirect(reader, unit);
    Dwarf_Die die;
    bool found = dwarf_cu_info(unit, NULL, NULL, NULL, &die, NULL, NULL, NULL) == 0 &&
                 dwarf_tag(&die) == DW_TAG_compile_unit;

    if (descriptor >= 0)
        close(descriptor);
    if (found)
        reader->tree_die = die;
    return found;
}
