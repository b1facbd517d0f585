// Tables sort by a click on a head; without this script everything is still here to read.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.append(button);
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("num");
      const was = head.getAttribute("aria-sort");
      const down = was ? was === "ascending" : numeric;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        if ("sort" in cell.dataset) return Number(cell.dataset.sort);
        return numeric ? null : cell.textContent;
      };
      const rows = [...body.rows].map((row, place) => ({ row, place, key: key(row) }));
      rows.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
        const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key));
        return (down ? -order : order) || a.place - b.place;
      });
      body.append(...rows.map((r) => r.row));
    });
  });
}
