/* Partitions of one database on one file system have the files of tables that are not divided in common. */
#ifndef HEDDLE_TOOLS_GEN_SHARE_H
#define HEDDLE_TOOLS_GEN_SHARE_H

/* Files of partition `to` become links to those of partition `from` of the same name, size and checksum, as their catalogs say, of
 * tables that are whole in both. Where that cannot be, they stay as they are. */
void gen_share_files(const char *from, const char *to);

#endif
