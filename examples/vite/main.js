import { Puna } from 'puna';

const answer = document.getElementById('answer');
// The worker and puna.wasm are served as they are, from public/puna (see "assets" in package.json).
const loading = Puna.load('smollm2', {
  assets: `${import.meta.env.BASE_URL}puna/`,
  onProgress: ({ stage, doneBytes, totalBytes }) => (answer.textContent = `${stage} ${Math.round((100 * doneBytes) / totalBytes)} %`),
});

loading.catch((error) => (answer.textContent = error.message));

document.querySelector('form').onsubmit = async (event) => {
  event.preventDefault();
  try {
    const engine = await loading;
    answer.textContent = '';
    const messages = [{ role: 'user', content: document.getElementById('prompt').value }];
    for await (const chunk of engine.chat({ messages })) answer.append(chunk.choices[0]?.delta.content ?? '');
  } catch (error) {
    answer.textContent = error.message;
  }
};
