// Before the first paint: the theme and text size that were chosen, so that nothing flashes. The page itself keeps them from here on.
(() => {
  let settings = {};
  try {
    settings = JSON.parse(localStorage.getItem('puna.settings') ?? '{}') ?? {};
  } catch {
    // Refused or damaged: the system's theme.
  }
  const root = document.documentElement;
  const dark = settings.theme === 'dark' || (settings.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  root.dataset.theme = dark ? 'dark' : 'light';
  if (settings.textSize >= 50 && settings.textSize <= 300) root.style.fontSize = `${settings.textSize}%`;
})();
