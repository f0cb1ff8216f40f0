"""Families of language models that are known by name, and not read: none is another one misspelt."""

from __future__ import annotations

OTHER_FAMILIES = frozenset(
    """
afmoe albert apertus apertus1p5_text arcee aria_text audioflamingo3 axk1 axk2 bailing_hybrid bamba bart beam
bert bert-generation big_bird bigbird_pegasus biogpt bitnet blenderbot blenderbot-small bloom blt camembert
codegen cohere cohere2 cohere2_moe cohere_compass_text colqwen2 convbert cpmant ctrl cwm data2vec-text dbrx
deberta deberta-v2 deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 diffllama distilbert doge dory dots1
dots3_note dots3_note_text electra emu3 encoder-decoder ernie ernie4_5 ernie4_5_moe esm esmc eurobert exaone
exaone4 exaone_moe falcon falcon_h1 falcon_mamba flaubert flava flex_olmo flint fnet fsmt funnel fuyu gemma
gemma2 gemma3 gemma3_text gemma3n gemma3n_text gemma4 gemma4_assistant gemma4_text gemma4_unified
gemma4_unified_assistant gemma4_unified_text git glm glm4 glm4_moe glm4_moe_lite glm_moe_dsa glmasr glmga
got_ocr2 gpt-sw3 gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gpt_oss gptj granite granite_speech
granite_speech_plus granite_swa granitemoe granitemoe_swa granitemoehybrid granitemoeshared gte helium
hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hyperclovax ibert inkling2_loop_text inkling2_text
inkling_text internlm3 iquestcoder jais2 jamba jetmoe jina_embeddings_v3 kimi_linear kolibri1 laguna lara_mini
layoutlm led lfm2 lfm2_moe lfm3 llama4 llama4_text llava longcat_flash longformer longt5 luke m2m_100 mamba
mamba2 marian mbart megatron-bert mellum mimo_v2_flash minicpm3 minimax minimax_m2 minimax_m3_vl_text
ministral ministral3 mllama mobilebert modernbert modernbert-decoder modernvbert moshi moss_transcribe_diarize
mpnet mpt mra mt5 musicflamingo musicgen musicgen_melody mvp nanochat nemo_speechlm nemotron nemotron_h neomme
nllb-moe nomic_bert nystromformer olmo olmo2 olmo3 olmo_hybrid olmoe omniasr openai-gpt opt pegasus pegasus_x
perceiver persimmon phi phi3 phi4_multimodal phimoe pixtral plbart prophetnet pvt_v2 qwen2_audio qwen2_moe
qwen2_vl qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_asr qwen3_moe qwen3_next qwen3_vl qwen4_exp
qwen4_exp_text recurrent_gemma reformer rembert roberta roberta-prelayernorm roc_bert roformer rwkv sarvam_mla
sarvam_moe seamless_m4t seamless_m4t_v2 seed_oss smollm3 solar_open squeezebert stablelm starcoder2
switch_transformers t5 t5gemma t5gemma2 tapas trocr ultrabert ultravbert umt5 vaultgemma vibevoice_asr
vipllava voxtral voxtral_realtime whisper xglm xlm xlm-roberta xlm-roberta-xl xlnet xlstm xmod yoso youtu
zamba zamba2 zaya
    """.split()  # noqa: SIM905 (a list of lines is longer than the module)
)
"""The ``model_type`` of causal, masked and sequence-to-sequence language models in transformers 5.24, and of
what is spelt like a family that is read."""
