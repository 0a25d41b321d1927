"use strict";
// Sorts a table by the column whose header is pressed; numbers by value, dashes last.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.parentElement;
    const body = header.closest("table").tBodies[0];
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[header.cellIndex].dataset.value ?? row.cells[header.cellIndex].textContent;
    const numeric = !header.classList.contains("text");
    const rows = Array.from(body.rows, (row) => ({ row, key: key(row) }));
    rows.sort((a, b) => {
      if (!numeric) return (down ? -1 : 1) * a.key.localeCompare(b.key);
      if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "");
      return (down ? -1 : 1) * (Number(a.key) - Number(b.key));
    });
    body.append(...rows.map((entry) => entry.row));
  });
}
